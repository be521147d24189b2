# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The plugin (does not link LLVM: the tool that loads it has it) and the worker, of the same objects.
find_package(LLVM 22.1 CONFIG REQUIRED)
if(NOT LLVM_VERSION_MAJOR EQUAL MLCB_LLVM_MAJOR)
  message(FATAL_ERROR "found LLVM ${LLVM_PACKAGE_VERSION}, MLCB_LLVM_MAJOR is ${MLCB_LLVM_MAJOR}")
endif()

file(GLOB MLCB_LLVM_OBJECTS CONFIGURE_DEPENDS llvm/process/*.cpp llvm/observe/*.cpp llvm/measure/*.cpp llvm/loops/*.cpp
     llvm/pipeline/*.cpp llvm/task/*.cpp llvm/deploy/*.cpp llvm/tasks/*/*.cpp llvm/tasks/*/*/*.cpp)
foreach(Folder ${MLCB_EXTRA_TASKS})
  file(GLOB Found CONFIGURE_DEPENDS ${Folder}/*.cpp)
  list(APPEND MLCB_LLVM_OBJECTS ${Found})
endforeach()
file(GLOB MLCB_PLUGIN_SOURCES CONFIGURE_DEPENDS llvm/*.cpp)
file(GLOB MLCB_WORKER_SOURCES CONFIGURE_DEPENDS llvm/worker/*.cpp)

add_library(mlcb_llvm_options INTERFACE)
target_include_directories(mlcb_llvm_options SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_options(mlcb_llvm_options INTERFACE -fno-rtti -fno-exceptions)
target_compile_definitions(mlcb_llvm_options INTERFACE NDEBUG)
target_link_libraries(mlcb_llvm_options INTERFACE mlcb_core)

if(MLCB_LLVM_OBJECTS)
  add_library(mlcb_llvm_objects OBJECT ${MLCB_LLVM_OBJECTS})
  mlcb_unite(mlcb_llvm_objects)
  target_link_libraries(mlcb_llvm_objects PUBLIC mlcb_llvm_options)
  set_source_files_properties(llvm/observe/Embedding.cpp PROPERTIES COMPILE_OPTIONS -O3) # it sums up vectors
endif()

if(MLCB_PLUGIN_SOURCES)
  add_library(mlcb_llvm MODULE ${MLCB_PLUGIN_SOURCES})
  target_link_libraries(mlcb_llvm PRIVATE mlcb_llvm_options $<TARGET_NAME_IF_EXISTS:mlcb_llvm_objects>)
  install(TARGETS mlcb_llvm LIBRARY DESTINATION mlcb_gym/lib COMPONENT python)
endif()

if(MLCB_WORKER_SOURCES)
  set(Library LLVM)
  if(MLCB_PORTABLE)
    set(Targets AllTargetsCodeGens AllTargetsAsmParsers AllTargetsDescs AllTargetsInfos AllTargetsMCAs)
    llvm_map_components_to_libnames(Library ${Targets} Passes MCA OrcJIT)
    add_link_options(LINKER:--gc-sections)
  endif()
  add_executable(mlcb-worker ${MLCB_WORKER_SOURCES})
  mlcb_unite(mlcb-worker)
  target_link_libraries(mlcb-worker PRIVATE mlcb_llvm_options $<TARGET_NAME_IF_EXISTS:mlcb_llvm_objects> mlcb_sandbox ${Library})
  install(TARGETS mlcb-worker RUNTIME DESTINATION mlcb_gym/bin COMPONENT python)
endif()

# Beside the plugin, where it looks: in an editable install the package's own data lies elsewhere.
install(FILES ${PROJECT_SOURCE_DIR}/mlcb_gym/data/ir2vec-300d.json ${PROJECT_SOURCE_DIR}/mlcb_gym/data/mir-100d.json DESTINATION mlcb_gym/data
        COMPONENT python)
