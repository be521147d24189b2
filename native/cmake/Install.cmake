# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For other compilers: find_package(mlcb) gives mlcb::core (C++, static) and mlcb::c (C, shared); mlcb.pc the latter.
# The component is none of the wheel's, which installs `python` alone.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(MLCB_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/mlcb)
set(MLCB_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mlcb)

target_include_directories(mlcb_core INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                               $<INSTALL_INTERFACE:${MLCB_INCLUDE_DIR}>)
target_compile_features(mlcb_core INTERFACE cxx_std_20)
set_target_properties(mlcb_core PROPERTIES EXPORT_NAME core)
target_include_directories(mlcb_c INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# A header that says so needs libraries which a user of the others need not have.
file(GLOB MLCB_HEADERS CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
     spec/*.h spec/*.inc serdes/*.h channel/*.h protocol/*.h runner/*.h tasks/*.def tasks/*.inc)
list(REMOVE_ITEM MLCB_HEADERS runner/AotMath.h runner/AotVarying.h) # C, for what mlcb_gym/export/aot.py makes
foreach(Header ${MLCB_HEADERS})
  file(STRINGS ${Header} Private REGEX "For .cpp files only")
  if(NOT Private)
    cmake_path(GET Header PARENT_PATH Folder)
    install(FILES ${Header} DESTINATION ${MLCB_INCLUDE_DIR}/${Folder} COMPONENT development)
  endif()
endforeach()
install(FILES ${MLCB_GENERATED_DIR}/AllTasks.inc capi/mlcb.h DESTINATION ${MLCB_INCLUDE_DIR} COMPONENT development)

foreach(Part core c)
  install(TARGETS mlcb_${Part} EXPORT mlcb-${Part} COMPONENT development)
  install(EXPORT mlcb-${Part} NAMESPACE mlcb:: DESTINATION ${MLCB_CMAKE_DIR} COMPONENT development)
endforeach()
configure_package_config_file(cmake/mlcbConfig.cmake.in mlcbConfig.cmake INSTALL_DESTINATION ${MLCB_CMAKE_DIR})
write_basic_package_version_file(mlcbConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH MLCB_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/mlcb.pc.in mlcb.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mlcbConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/mlcbConfigVersion.cmake DESTINATION ${MLCB_CMAKE_DIR}
        COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mlcb.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
