# What a C or C++ program gets: library, headers, a CMake package and a pkg-config file. A wheel has
# the same below the Python package, as the component `wheel` of a finished build installs it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library ${CMAKE_INSTALL_LIBDIR})
set(namelink)
if(SKBUILD)  # no links in a wheel
  set(library lib)
  set(namelink NAMELINK_SKIP)
endif()
install(TARGETS flambeau EXPORT flambeau LIBRARY DESTINATION ${library} ${namelink})
if(TARGET flambeau_gloo AND NOT SKBUILD)
  install(TARGETS flambeau_gloo LIBRARY DESTINATION ${library})
endif()
set(versions ${PROJECT_BINARY_DIR}/flambeau-config-version.cmake)
write_basic_package_version_file(${versions} COMPATIBILITY SameMinorVersion)
configure_file(lib/build/flambeau.pc.in ${PROJECT_BINARY_DIR}/flambeau.pc @ONLY)

function(flam_install_development library include)
  install(DIRECTORY include/flambeau DESTINATION ${include} ${ARGN} FILES_MATCHING PATTERN "*.h")
  install(EXPORT flambeau NAMESPACE flambeau:: FILE flambeau-config.cmake
          DESTINATION ${library}/cmake/flambeau ${ARGN})
  install(FILES ${versions} DESTINATION ${library}/cmake/flambeau ${ARGN})
  install(FILES ${PROJECT_BINARY_DIR}/flambeau.pc DESTINATION ${library}/pkgconfig ${ARGN})
endfunction()

flam_install_development(${library} ${CMAKE_INSTALL_INCLUDEDIR})
if(NOT SKBUILD)  # a wheel's lies beside its metadata
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
if(TARGET flambeau_wheel)
  set(wheel COMPONENT wheel EXCLUDE_FROM_ALL)
  flam_install_development(lib include ${wheel})
  install(FILES ${PROJECT_BINARY_DIR}/wheel/libflambeau.so.${PROJECT_VERSION_MAJOR}
          DESTINATION lib ${wheel})
  if(TARGET flambeau_python)
    install(TARGETS flambeau_python LIBRARY DESTINATION . ${wheel})
  endif()
endif()
