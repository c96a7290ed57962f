# The Python extension: one abi3 file that holds both CFFI modules (the build generates their
# sources) and what owners of handles and scopes are made of. It names libflambeau by soname only:
# the package opens the library first and so decides which file it gets.

find_package(Python COMPONENTS Interpreter Development.SABIModule)
file(GLOB cffi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindings/python/gen/*.c)

if(NOT Python_Development.SABIModule_FOUND)
  message(STATUS "flambeau: no Python headers (python3-dev), so no Python extension")
elseif(cffi_sources)
  python_add_library(flambeau_python MODULE USE_SABI 3.10 ${cffi_sources}
                     ${PROJECT_SOURCE_DIR}/bindings/python/owner.c
                     ${PROJECT_SOURCE_DIR}/bindings/python/function.c
                     ${PROJECT_SOURCE_DIR}/bindings/python/scope.c)
  set_target_properties(flambeau_python PROPERTIES OUTPUT_NAME _flambeau PREFIX "" SUFFIX .abi3.so
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python SKIP_BUILD_RPATH ON
                        C_VISIBILITY_PRESET default)
  target_include_directories(flambeau_python PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(flambeau_python PRIVATE flambeau)
  # An older library, that lacks functions, is refused by its version and not by the loader.
  target_link_options(flambeau_python PRIVATE -Wl,-z,lazy)
  # The text is CFFI's: it converts between pointers in ways that a strict compiler questions.
  set(glue -w)
  # At -O1 a call runs as many instructions as at -O2, for half the compiler's time.
  if(NOT CMAKE_C_FLAGS MATCHES "-O0")
    list(APPEND glue -O1)
  endif()
  set_source_files_properties(${cffi_sources} PROPERTIES COMPILE_OPTIONS "${glue}")
  if(SKBUILD)
    install(TARGETS flambeau_python LIBRARY DESTINATION .)
  endif()
endif()
