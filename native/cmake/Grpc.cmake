# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libmlcb_grpc.so: channels over gRPC, which a compiler must not load before it is asked to. Left out where gRPC is not installed.
include(GNUInstallDirs)
find_package(gRPC CONFIG QUIET)
if(NOT gRPC_FOUND)
  message(STATUS "gRPC is left out, libgrpc++-dev is not installed: grpc:// will be refused")
  return()
endif()

file(GLOB MLCB_GRPC_SOURCES CONFIGURE_DEPENDS channel/grpc/*.cpp)
add_library(mlcb_grpc MODULE ${MLCB_GRPC_SOURCES})
mlcb_unite(mlcb_grpc)
target_compile_options(mlcb_grpc PRIVATE -fno-exceptions)
target_link_options(mlcb_grpc PRIVATE LINKER:-Bsymbolic)
target_link_libraries(mlcb_grpc PRIVATE mlcb_core gRPC::grpc++)
install(TARGETS mlcb_grpc LIBRARY DESTINATION mlcb_gym/lib COMPONENT python)
install(TARGETS mlcb_grpc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
