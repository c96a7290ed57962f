# Eigen's headers, for the few files that factor matrices: from the wheel `cmeel-eigen`, which is
# among the pinned tools and the wheel's build requirements, or the system's (apt package
# libeigen3-dev). It counts as a system's, so that its warnings are not errors.

find_package(Python COMPONENTS Interpreter)
set(eigen_folders)
if(Python_Interpreter_FOUND)
  set(print_folders "import sys\nfor p in sys.path: print(p + '/cmeel.prefix/include/eigen3')")
  execute_process(COMMAND ${Python_EXECUTABLE} -c "${print_folders}" OUTPUT_VARIABLE eigen_folders
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
string(REPLACE "\n" ";" eigen_folders "${eigen_folders}")
find_path(FLAM_EIGEN Eigen/Core HINTS ${eigen_folders} PATH_SUFFIXES eigen3)
if(NOT FLAM_EIGEN)
  message(FATAL_ERROR "flambeau: no Eigen; run `make setup`, or install the apt package "
                      "libeigen3-dev, or say where it is: -DFLAM_EIGEN=/path/to/include/eigen3")
endif()

# Compiled by themselves, first of all: one of them takes as long as everything else on its core.
file(GLOB factor_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/kernels/factor/*.cc)
add_library(flambeau_factor OBJECT ${factor_sources})
target_include_directories(flambeau_factor SYSTEM PRIVATE ${FLAM_EIGEN})
target_link_libraries(flambeau_factor PRIVATE flambeau_compile)
