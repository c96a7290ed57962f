# What follows from include/flambeau and only machines read is not in git: it is written when CMake
# configures, and a header or a generator that changed since lets the build configure again. Text
# that stays equal is not touched, so that nothing is compiled without need. Archives made for users
# hold the files and no generator.

set(generator ${PROJECT_SOURCE_DIR}/bindings/generate)
if(EXISTS ${generator}/__main__.py)
  set(python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  if(NOT Python_EXECUTABLE AND EXISTS ${python})
    set(Python_EXECUTABLE ${python})
  endif()
  find_package(Python REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python_EXECUTABLE} ${generator} --if-changed
                  RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(status)
    message(FATAL_ERROR "flambeau: sources could not be generated from the headers:\n${text}")
  endif()
  # Listed only now, with what was written, so that the first build finds nothing new.
  file(GLOB inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/flambeau/*.h ${generator}/*.*)
  file(GLOB_RECURSE package CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindings/python/flambeau/*.py)
  list(APPEND inputs ${package})  # they name the functions that they call
  list(FILTER inputs EXCLUDE REGEX "/(flambeau|derived|load)\\.h$|/_gen/")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
endif()
