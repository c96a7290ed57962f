# libflambeau.so.0: the host objects and every build of the kernels, exporting exactly the header's
# functions and needing nothing but the C library. Its name in the ABI is the soname; the file is
# build/<preset>/libflambeau.so.0.

file(GLOB_RECURSE host_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/*.cc)
list(FILTER host_sources EXCLUDE REGEX
     "\\.kernel\\.cc$|/lib/device/cuda/|/lib/build/|/lib/kernels/factor/|/lib/dist/gloo/")
include(lib/build/eigen.cmake)
find_path(FLAM_JSON nlohmann/json.hpp)
if(NOT FLAM_JSON)
  message(FATAL_ERROR "flambeau: no nlohmann/json; install the apt package nlohmann-json3-dev, or "
                      "say where it is: -DFLAM_JSON=/path/to/include")
endif()
add_library(flambeau_host OBJECT ${host_sources})
target_link_libraries(flambeau_host PRIVATE flambeau_compile)
target_include_directories(flambeau_host SYSTEM PRIVATE ${FLAM_JSON})
target_precompile_headers(flambeau_host PRIVATE ${FLAM_PRECOMPILED})

# With FLAM_UNITY the files of a folder are compiled a group at a time: headers are read and inline
# functions compiled once for all of it, which takes a third of the time.
if(FLAM_UNITY AND Python_Interpreter_FOUND)
  execute_process(COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/lib/build/unity.py
                          ${PROJECT_SOURCE_DIR}/lib ${host_sources}
                  OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" groups "${groups}")
  # Who names something anew may leave its group.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${host_sources})
  set_target_properties(flambeau_host PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
                                                 UNITY_BUILD_RELOCATABLE ON)
  # Where it inlines that much gcc 12 takes sizes of strings for impossible ones, and memory in an
  # object for memory to free, although it is compared with that first.
  target_compile_options(flambeau_host PRIVATE -Wno-error=restrict -Wno-error=stringop-overflow
                                               -Wno-error=array-bounds
                                               -Wno-free-nonheap-object)
  foreach(group IN LISTS groups)
    string(REPLACE " " ";" members "${group}")
    list(POP_FRONT members name)
    set_source_files_properties(${members} PROPERTIES UNITY_GROUP ${name})
  endforeach()
endif()

# Everything of the library as objects: for the library itself, and for tests that reach behind the
# ABI. Host objects come first (see kernels.cmake).
set(FLAM_OBJECTS $<TARGET_OBJECTS:flambeau_host> $<TARGET_OBJECTS:flambeau_factor>)
set(FLAM_OBJECTS_WITHOUT_CUDA ${FLAM_OBJECTS})
foreach(part IN LISTS FLAM_KERNEL_OBJECTS)
  list(APPEND FLAM_OBJECTS $<TARGET_OBJECTS:${part}>)
  if(NOT part MATCHES "_cuda")
    list(APPEND FLAM_OBJECTS_WITHOUT_CUDA $<TARGET_OBJECTS:${part}>)
  endif()
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

# What wheels hold: the same objects, linked to run with an older C library (see glibc.py).
set(FLAM_GLIBC 2.28 CACHE STRING "The oldest glibc that the library of a wheel runs with")
if(Python_Interpreter_FOUND AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(old ${PROJECT_BINARY_DIR}/glibc-${FLAM_GLIBC})
  set(script ${PROJECT_SOURCE_DIR}/lib/build/glibc.py)
  add_custom_command(OUTPUT ${old}/libc.so DEPENDS ${script} VERBATIM
                     COMMAND ${Python_EXECUTABLE} ${script} ${FLAM_GLIBC} ${old})
  add_custom_target(flambeau_glibc DEPENDS ${old}/libc.so)
  flam_shared_library(flambeau_wheel ${PROJECT_BINARY_DIR}/wheel
                      ${PROJECT_SOURCE_DIR}/lib/build/glibc_compat.c)
  add_dependencies(flambeau_wheel flambeau_glibc)
  target_link_directories(flambeau_wheel PRIVATE ${old})
  # Threads, dlopen and shared memory, which CUDA's runtime uses, were in libraries of their own.
  set(apart ${old}/libpthread.so.0,${old}/libdl.so.2)
  if(FLAM_CUDA)
    string(APPEND apart ,${old}/librt.so.1)
  endif()
  target_link_options(flambeau_wheel PRIVATE
                      -Wl,--push-state,--no-as-needed,${apart},--pop-state)
  # Nothing tells the loader of that folder, whose libraries have names and no code.
  set_target_properties(flambeau_wheel PROPERTIES EXCLUDE_FROM_ALL ON SKIP_BUILD_RPATH ON)
endif()

# Gloo's adaptor, beside the library, which opens it when a program first asks for Gloo.
find_library(FLAM_GLOO gloo)
find_path(FLAM_GLOO_INCLUDE gloo/context.h)
if(FLAM_GLOO AND FLAM_GLOO_INCLUDE)
  file(GLOB gloo_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/dist/gloo/*.cc)
  add_library(flambeau_gloo MODULE ${gloo_sources})
  target_link_libraries(flambeau_gloo PRIVATE flambeau_compile ${FLAM_GLOO} Threads::Threads)
  target_include_directories(flambeau_gloo SYSTEM PRIVATE ${FLAM_GLOO_INCLUDE})
  set_target_properties(flambeau_gloo PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_options(flambeau_gloo PRIVATE -Wl,-z,now -Wl,-z,nodelete -Wl,--as-needed
                                            $<$<NOT:$<BOOL:${FLAM_SANITIZE}>>:-Wl,-z,defs>)
  add_dependencies(flambeau flambeau_gloo)  # whoever builds the one runs, or installs, both
else()
  message(STATUS "flambeau: no Gloo (apt package libgloo-dev), so groups of one process only")
endif()

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
