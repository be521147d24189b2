# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The serializers whose libraries a compiler must not load before it is asked to: each its own libmlcb_serdes_<name>.so.
include(GNUInstallDirs)
find_package(simdjson REQUIRED)
find_package(Protobuf REQUIRED)
protobuf_generate_cpp(MLCB_PROTO_SOURCES MLCB_PROTO_HEADERS serdes/protobuf/tensors.proto)
set_source_files_properties(${MLCB_PROTO_SOURCES} PROPERTIES COMPILE_OPTIONS -w)

function(mlcb_add_serializer Name Library)
  file(GLOB Sources CONFIGURE_DEPENDS serdes/${Name}/*.cpp)
  add_library(mlcb_serdes_${Name} MODULE ${Sources} ${ARGN})
  target_compile_options(mlcb_serdes_${Name} PRIVATE -fno-exceptions)
  target_link_libraries(mlcb_serdes_${Name} PRIVATE mlcb_core nlohmann_json::nlohmann_json ${Library})
  install(TARGETS mlcb_serdes_${Name} LIBRARY DESTINATION mlcb_gym/lib COMPONENT python)
  install(TARGETS mlcb_serdes_${Name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endfunction()

mlcb_add_serializer(json simdjson::simdjson)
mlcb_add_serializer(protobuf protobuf::libprotobuf-lite ${MLCB_PROTO_SOURCES})
target_include_directories(mlcb_serdes_protobuf SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
