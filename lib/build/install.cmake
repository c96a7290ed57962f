# What a C or C++ program gets: library, headers, a CMake package and a pkg-config file. The wheel
# puts the library into the Python package instead.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(SKBUILD)
  install(TARGETS flambeau LIBRARY DESTINATION flambeau/lib NAMELINK_SKIP)
  install(DIRECTORY include/flambeau DESTINATION flambeau/include)
  return()
endif()

install(TARGETS flambeau EXPORT flambeau LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/flambeau DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/flambeau)
install(EXPORT flambeau NAMESPACE flambeau:: FILE flambeau-config.cmake DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/flambeau-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/flambeau-config-version.cmake DESTINATION ${package})

configure_file(lib/build/flambeau.pc.in ${PROJECT_BINARY_DIR}/flambeau.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/flambeau.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
