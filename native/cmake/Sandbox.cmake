# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What confines a worker: of Linux, and without LLVM.
find_package(PkgConfig REQUIRED)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)

file(GLOB MLCB_SANDBOX_SOURCES CONFIGURE_DEPENDS sandbox/*.cpp)
add_library(mlcb_sandbox STATIC ${MLCB_SANDBOX_SOURCES})
target_link_libraries(mlcb_sandbox PUBLIC mlcb_core PRIVATE PkgConfig::seccomp)
