# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mlcb_gym/_native and its generated stub.
if(NOT Python_Development.Module_FOUND)
  message(FATAL_ERROR "Python's headers are missing: install python3-dev")
endif()
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB MLCB_PYTHON_SOURCES CONFIGURE_DEPENDS python/*.cpp)
nanobind_add_module(_native NB_STATIC NOMINSIZE ${MLCB_PYTHON_SOURCES})
mlcb_unite(_native)
target_link_libraries(_native PRIVATE mlcb_core)
target_compile_definitions(_native PRIVATE MLCB_VERSION="${PROJECT_VERSION}")
# INCLUDE_PRIVATE, for nanobind takes SystemError_ for private.
nanobind_add_stub(_native_stub MODULE _native OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/_native.pyi
                  INCLUDE_PRIVATE PATTERN_FILE ${CMAKE_CURRENT_SOURCE_DIR}/python/stub.pat
                  PYTHON_PATH $<TARGET_FILE_DIR:_native> DEPENDS _native)
install(TARGETS _native LIBRARY DESTINATION mlcb_gym COMPONENT python)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/_native.pyi DESTINATION mlcb_gym COMPONENT python)

if(MLCB_SHIPPED)
  install(DIRECTORY ${MLCB_SHIPPED}/ DESTINATION mlcb_gym/corpus/shipped COMPONENT python)
endif()

# What mlcb_gym/export/aot.py compiles policies with.
install(FILES runner/AotAbi.h runner/AotMath.h runner/AotVarying.h DESTINATION mlcb_gym/include COMPONENT python)
