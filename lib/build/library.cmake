# libflambeau.so.0: the host objects and every build of the kernels, exporting exactly the header's
# functions and needing nothing but the C library. Its name in the ABI is the soname; the file is
# build/<preset>/libflambeau.so.0.

file(GLOB_RECURSE host_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/*.cc)
list(FILTER host_sources EXCLUDE REGEX "\\.kernel\\.cc$|/lib/device/cuda/|/lib/build/")
include(lib/build/eigen.cmake)
add_library(flambeau_host OBJECT ${host_sources})
target_link_libraries(flambeau_host PRIVATE flambeau_compile)
target_precompile_headers(flambeau_host PRIVATE ${FLAM_PRECOMPILED})

# Everything of the library as objects: for the library itself, and for tests that reach behind the
# ABI. Host objects come first (see kernels.cmake).
set(FLAM_OBJECTS $<TARGET_OBJECTS:flambeau_host>)
foreach(part IN LISTS FLAM_KERNEL_OBJECTS)
  list(APPEND FLAM_OBJECTS $<TARGET_OBJECTS:${part}>)
endforeach()

# A shared library with the ABI's name and exports out of `FLAM_OBJECTS` and what else is given.
function(flam_shared_library target folder)
  add_library(${target} SHARED ${FLAM_OBJECTS} ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME flambeau SOVERSION ${PROJECT_VERSION_MAJOR}
                        LIBRARY_OUTPUT_DIRECTORY ${folder} LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE flambeau_compile ${FLAM_CUDA_LIBRARIES})
  # Bound at once: a missing definition shows when the library is loaded, not in the middle of a
  # training.
  target_link_options(${target} PRIVATE -Wl,-z,now -Wl,-z,nodelete -Wl,--exclude-libs,ALL
                                        -Wl,-O1 -Wl,--as-needed)
  if(NOT FLAM_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc
                                          $<$<NOT:$<BOOL:${FLAM_PARTIAL}>>:-Wl,-z,defs>)
  endif()
  set(map ${PROJECT_SOURCE_DIR}/lib/capi/exports.map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
endfunction()

flam_shared_library(flambeau ${PROJECT_BINARY_DIR})
target_include_directories(flambeau PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:include>)
add_library(flambeau::flambeau ALIAS flambeau)

# For programs that would rather link everything in.
add_library(flambeau_static STATIC EXCLUDE_FROM_ALL ${FLAM_OBJECTS})
set_target_properties(flambeau_static PROPERTIES OUTPUT_NAME flambeau LINKER_LANGUAGE CXX)
target_link_libraries(flambeau_static PUBLIC Threads::Threads ${CMAKE_DL_LIBS}
                                             ${FLAM_CUDA_LIBRARIES})

get_filename_component(parent ${PROJECT_BINARY_DIR} DIRECTORY)
if(FLAM_PUBLISH AND parent STREQUAL "${PROJECT_SOURCE_DIR}/build")
  get_filename_component(preset ${PROJECT_BINARY_DIR} NAME)
  set(name libflambeau.so.${PROJECT_VERSION_MAJOR})
  add_custom_command(
    TARGET flambeau POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink ${preset}/${name} ${parent}/${name}
    COMMAND ${CMAKE_COMMAND} -E create_symlink ${name} ${parent}/libflambeau.so VERBATIM)
endif()
