# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mlcb_core: all of the native half that needs no LLVM.
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tl-expected REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)

# The shared library comes with Python's onnxruntime; it is opened only when a model is first asked for.
if(NOT MLCB_ONNXRUNTIME_LIBRARY AND Python_SITELIB AND NOT MLCB_PORTABLE)
  file(GLOB Found ${Python_SITELIB}/onnxruntime/capi/libonnxruntime.so.*)
  if(Found)
    list(GET Found 0 MLCB_ONNXRUNTIME_LIBRARY)
  endif()
endif()

file(GLOB MLCB_CORE_SOURCES CONFIGURE_DEPENDS spec/*.cpp serdes/*.cpp channel/*.cpp protocol/*.cpp runner/*.cpp)
if(MLCB_ONNX)
  if(NOT ONNXRUNTIME_ROOT)
    set(ONNXRUNTIME_ROOT ${PROJECT_SOURCE_DIR}/.deps/onnxruntime)
  endif()
  find_path(ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h PATHS ${ONNXRUNTIME_ROOT}/include NO_DEFAULT_PATH NO_CACHE)
  if(NOT ONNXRUNTIME_INCLUDE_DIR)
    message(FATAL_ERROR "onnxruntime_c_api.h is not under ${ONNXRUNTIME_ROOT}/include: run `make setup`, set ONNXRUNTIME_ROOT, or do without "
                        "`onnx:` by -DMLCB_ONNX=OFF")
  endif()
  list(FILTER MLCB_CORE_SOURCES EXCLUDE REGEX runner/WithoutOnnx)
else()
  list(FILTER MLCB_CORE_SOURCES EXCLUDE REGEX "runner/(Onnx|LocalModel)")
endif()
add_library(mlcb_core STATIC ${MLCB_CORE_SOURCES})
mlcb_unite(mlcb_core)
target_include_directories(mlcb_core PUBLIC $<BUILD_INTERFACE:${MLCB_GENERATED_DIR}> PRIVATE ${XXHASH_INCLUDE_DIR})
if(MLCB_ONNX)
  target_include_directories(mlcb_core PRIVATE ${ONNXRUNTIME_INCLUDE_DIR})
endif()
target_compile_definitions(mlcb_core PRIVATE MLCB_LLVM_MAJOR=${MLCB_LLVM_MAJOR}
                                             MLCB_ONNXRUNTIME_LIBRARY="${MLCB_ONNXRUNTIME_LIBRARY}")
# No exceptions: it is linked into LLVM's tools. RTTI, so that code with and without it can derive from its classes.
target_compile_options(mlcb_core PRIVATE -fno-exceptions)
# What is only headers, or only how this project is compiled, is no matter of those who link the installed library.
target_link_libraries(mlcb_core PUBLIC $<BUILD_INTERFACE:mlcb_options> tl::expected
                                PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> ${CMAKE_DL_LIBS})
