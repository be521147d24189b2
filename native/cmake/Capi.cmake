# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libmlcb.so: the core behind mlcb.h, and no other symbol.
file(STRINGS capi/mlcb.h MLCB_API_LINE REGEX "define MLCB_API_VERSION")
string(REGEX MATCH "[0-9]+" MLCB_API_VERSION "${MLCB_API_LINE}")

add_library(mlcb_c SHARED capi/mlcb.cpp)
set_target_properties(mlcb_c PROPERTIES OUTPUT_NAME mlcb EXPORT_NAME c VERSION ${MLCB_API_VERSION}.${PROJECT_VERSION}
                                        SOVERSION ${MLCB_API_VERSION})
target_compile_options(mlcb_c PRIVATE -fno-exceptions)
target_link_libraries(mlcb_c PRIVATE mlcb_core)
target_link_options(mlcb_c PRIVATE LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/capi/mlcb.map)
set_target_properties(mlcb_c PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/capi/mlcb.map)
