// Libraries of CUDA's toolkit, of which every major version has its own. That of the runtime which
// is linked in is looked for first, in each place; then the others, as far as the driver serves
// them: one that is newer than the driver opens and works with no GPU.
#pragma once
#include "device/library.h"

namespace flambeau::cuda {

struct ToolkitLibrary {
  const char* name;         // "cuBLASLt"
  const char* soname;       // "libcublasLt.so", without the major version
  const char* wheel_of_12;  // the folder of CUDA 12's wheel; those of 13 share one
  const char* package;      // NVIDIA's wheel; that of CUDA 12 ends in -cu12
  std::string (*reject)(void* handle);
  int behind = 0;  // by how much the soname's number is less than the toolkit's
};

Library open_of_toolkit(const ToolkitLibrary& library);  // throws as Library::open

}  // namespace flambeau::cuda
