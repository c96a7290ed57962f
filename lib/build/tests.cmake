# C++ tests (GoogleTest; they may look behind the ABI, so they link the objects), C tests (C99
# programs that see only the headers and open the library with dlopen), and benchmarks. One program
# per folder of `tests/`.

find_package(GTest QUIET)
if(NOT GTest_FOUND AND EXISTS /usr/src/googletest/CMakeLists.txt)
  set(INSTALL_GTEST OFF CACHE INTERNAL "")
  add_subdirectory(/usr/src/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  set(GTest_FOUND TRUE)
endif()

# A test program out of sources or objects, and the library's objects.
function(flam_test_program name)
  set(target ${name}_test)
  add_executable(${target} ${ARGN} ${FLAM_OBJECTS} $<TARGET_OBJECTS:flambeau_emulated>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE flambeau_compile ${FLAM_CUDA_LIBRARIES} GTest::gtest)
  if(FLAM_PARTIAL)
    target_link_options(${target} PRIVATE -Wl,-z,now -Wl,--unresolved-symbols=ignore-all)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${target} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()

# That of a folder; `main` is GoogleTest's unless a *_main.cc is there.
function(flam_cc_tests folder)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  get_filename_component(name ${folder} NAME)
  flam_test_program(${name} ${sources})
  target_include_directories(${name}_test PRIVATE ${folder})
  if(NOT "${sources}" MATCHES "_main\\.cc")
    target_link_libraries(${name}_test PRIVATE GTest::gtest_main)
  endif()
endfunction()

file(GLOB_RECURSE cc_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.cc)
set(folders)
foreach(file IN LISTS cc_tests)
  get_filename_component(folder ${file} DIRECTORY)
  list(APPEND folders ${folder})
endforeach()
list(REMOVE_DUPLICATES folders)
# These link another set of objects.
list(REMOVE_ITEM folders ${PROJECT_SOURCE_DIR}/tests/harness/cuda_on_cpu
                         ${PROJECT_SOURCE_DIR}/tests/cuda)
if(GTest_FOUND)
  foreach(folder IN LISTS folders)
    flam_cc_tests(${folder})
  endforeach()
  # Where the processor has protection keys, the fallback for those that have none.
  add_test(NAME runtime.mapping
           COMMAND runtime_test --gtest_filter=Sim.* protection=mapping)
  # All that does not count what segments of their own take.
  set(counting *.FreedBlocks*:*CacheBack*:*ReportSays*:*.Flat*)
  set(expandable Allocator.*:Graphs.*:Sim.*-${counting})
  add_test(NAME runtime.expandable COMMAND runtime_test --gtest_filter=${expandable}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(runtime.expandable PROPERTIES TIMEOUT 900 ENVIRONMENT
                                          FLAMBEAU_ALLOC_CONF=expandable_segments:True)
elseif(folders)
  message(WARNING "flambeau: no GoogleTest (apt package libgtest-dev), so no C++ tests")
endif()

# Strict C99 programs, on the cpu, on simulated devices, and on cuda over the library with the
# stand-in.
file(GLOB c_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/capi/*_test.c)
foreach(file IN LISTS c_tests)
  get_filename_component(name ${file} NAME_WE)
  add_executable(capi_${name} ${file})
  target_include_directories(capi_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(capi_${name} PRIVATE ${CMAKE_DL_LIBS} m Threads::Threads)
  target_compile_options(capi_${name} PRIVATE -Wall -Wextra -Werror -pedantic-errors)
  if(FLAM_SANITIZE)
    target_compile_options(capi_${name} PRIVATE -fsanitize=${FLAM_SANITIZE}
                                                -fno-sanitize-recover=all)
    target_link_options(capi_${name} PRIVATE -fsanitize=${FLAM_SANITIZE})
  endif()
  set_target_properties(capi_${name} PROPERTIES C_EXTENSIONS OFF
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  foreach(run flambeau:cpu: flambeau:sim:.sim flambeau_standin_library:cuda:.standin)
    string(REGEX MATCH "(.*):(.*):(.*)" matched ${run})
    set(suffix ${CMAKE_MATCH_3})
    set(environment FLAMBEAU_LIBRARY=$<TARGET_FILE:${CMAKE_MATCH_1}>
                    FLAMBEAU_TEST_DEVICE=${CMAKE_MATCH_2})
    if(suffix)
      list(APPEND environment FLAMBEAU_SIM=devices=2)
    endif()
    add_test(NAME capi.${name}${suffix} COMMAND capi_${name}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(capi.${name}${suffix} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 600)
  endforeach()
  # Every handle looked up: the tests' own mistakes, and right ones taken for wrong. Under a
  # sanitizer no memory is withheld, so that a released handle's address may come again.
  if(NOT FLAM_SANITIZE)
    add_test(NAME capi.${name}.handles COMMAND capi_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(capi.${name}.handles PROPERTIES TIMEOUT 600 ENVIRONMENT
                         "FLAMBEAU_LIBRARY=$<TARGET_FILE:flambeau>;FLAMBEAU_CHECK=handles")
  endif()
endforeach()

# Benchmarks: programs over the library as a user has it, `make bench` runs them.
file(GLOB benchmarks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/bench/*.cc
     ${PROJECT_SOURCE_DIR}/tests/bench/*.c)
foreach(file IN LISTS benchmarks)
  get_filename_component(name ${file} NAME_WE)
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${file})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(bench_${name} PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
  target_compile_options(bench_${name} PRIVATE -O2 -Wall -Wextra -Werror)
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                 ${PROJECT_BINARY_DIR}/bench)
  list(APPEND bench_targets bench_${name})
endforeach()
# Benchmarks of kernels look behind the ABI, as the C++ tests do.
file(GLOB kernel_benchmarks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/bench/kernels/*.cc)
foreach(file IN LISTS kernel_benchmarks)
  get_filename_component(name ${file} NAME_WE)
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${file} ${FLAM_OBJECTS})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bench_${name} PRIVATE flambeau_compile ${FLAM_CUDA_LIBRARIES})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                 ${PROJECT_BINARY_DIR}/bench)
  list(APPEND bench_targets bench_${name})
endforeach()
add_custom_target(bench DEPENDS ${bench_targets})
