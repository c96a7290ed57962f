# The kernels' objects: every `*.kernel.cc` once per instruction set, each build in a namespace of
# its own (FLAM_TARGET), and by nvcc. The order in FLAM_KERNEL_OBJECTS is that of rising
# requirements: of an inline function that several builds emit the linker keeps the first, which
# must run on every processor.

file(GLOB_RECURSE FLAM_KERNEL_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/*.kernel.cc)
set(FLAM_KERNEL_OBJECTS)

# No flag here changes a result: an error number or a trap is never read, and products are never
# fused into sums, which a formula does by itself where it may (math.h).
separate_arguments(optimize UNIX_COMMAND "${FLAM_KERNEL_OPTIMIZE}")
set(kernel_options ${optimize} -fno-math-errno -fno-trapping-math -ffp-contract=off)
# gcc 12 takes a vector that is filled lane by lane for an uninitialised one.
list(APPEND kernel_options -Wno-maybe-uninitialized)
# Loops around options that a whole launch shares become one vector loop for each choice, and lanes
# of sums stay in registers; everywhere it would only make the library larger.
function(flam_optimize files)
  set(chosen ${FLAM_KERNEL_SOURCES})
  list(FILTER chosen INCLUDE REGEX "/(${files})\\.kernel\\.cc$")
  set_source_files_properties(${chosen} PROPERTIES COMPILE_OPTIONS "${ARGN}")
endfunction()
flam_optimize("optimizer[a-z_]*|ternary" -funswitch-loops)
flam_optimize("fold|rows|planes" -funswitch-loops -fpeel-loops)

function(flam_kernels target rank)
  add_library(flambeau_kernels_${target} OBJECT ${FLAM_KERNEL_SOURCES})
  target_link_libraries(flambeau_kernels_${target} PRIVATE flambeau_compile)
  target_compile_definitions(flambeau_kernels_${target} PRIVATE FLAM_TARGET=${target}
                                                                FLAM_ISA_RANK=${rank})
  target_compile_options(flambeau_kernels_${target} PRIVATE ${kernel_options} ${ARGN})
  set(FLAM_KERNEL_OBJECTS ${FLAM_KERNEL_OBJECTS} flambeau_kernels_${target} PARENT_SCOPE)
endfunction()

set(avx2 -mavx2 -mfma -mf16c)
set(avx512 -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mf16c -mprefer-vector-width=512)
set(best 2)
if(FLAM_NATIVE_ISA AND EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)
  if(NOT cpu_flags MATCHES "avx512f.*" OR NOT cpu_flags MATCHES "avx512dq")
    set(best 1)
  endif()
  if(NOT cpu_flags MATCHES "avx2")
    set(best 0)
  endif()
endif()

if(NOT FLAM_KERNEL_SOURCES)
  message(STATUS "flambeau: no kernels found")
elseif(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  flam_kernels(generic 0)
else()
  set(rank 0)
  foreach(target sse2 avx2 avx512)
    if(NOT FLAM_NATIVE_ISA OR rank EQUAL best)
      flam_kernels(${target} ${rank} ${${target}})
    endif()
    math(EXPR rank "${rank} + 1")
  endforeach()
endif()

if(FLAM_CUDA)
  add_subdirectory(lib/build/cuda)
endif()
