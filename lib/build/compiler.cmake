# What every object is compiled with: the include roots, warnings, sanitizers, and ccache where it
# is there. Warnings are errors with the compiler that the tests run on; what a newer one warns of
# stops nobody who only wants to build.

add_library(flambeau_compile INTERFACE)
target_include_directories(flambeau_compile INTERFACE ${PROJECT_SOURCE_DIR}/lib
                                                      ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(flambeau_compile INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
set(werror OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(werror ON)
endif()
option(FLAM_WERROR "Warnings are errors" ${werror})
target_compile_options(
  flambeau_compile
  INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra $<$<BOOL:${FLAM_WERROR}>:-Werror>>)

if(FLAM_SANITIZE)
  set(sanitize -fsanitize=${FLAM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(flambeau_compile INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${sanitize}>)
  # gcc 12 sees uninitialised values in code that the sanitizers inserted themselves.
  target_compile_options(flambeau_compile
                         INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wno-maybe-uninitialized>)
  target_link_options(flambeau_compile INTERFACE -fsanitize=${FLAM_SANITIZE})
endif()

find_program(FLAM_CCACHE ccache)
if(FLAM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the checkout, so that two clones share what they compiled; each has
  # a compiler for CUDA of its own, the same one by content.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
               CCACHE_COMPILERCHECK=content CCACHE_SLOPPINESS=pch_defines,time_macros
               ${FLAM_CCACHE})
  # ccache has to see which precompiled header a file took.
  target_compile_options(flambeau_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  foreach(language C CXX CUDA)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${launcher})
  endforeach()
endif()

# Parsing the standard library costs a small file more than its own lines. Only what never changes
# is compiled once for all: a header of the project's own would rebuild everything with each edit.
set(FLAM_PRECOMPILED <algorithm> <array> <atomic> <cmath> <condition_variable> <cstdint> <cstring>
                     <functional> <initializer_list> <limits> <memory> <mutex> <numeric>
                     <optional> <span> <string> <string_view> <thread> <tuple> <type_traits>
                     <unordered_map> <utility> <vector>)
