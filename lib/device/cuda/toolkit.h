// Libraries of CUDA's toolkit, of which every major version has its own. That of the runtime which
// is linked in is looked for first, in each place; then the others, as far as the driver serves
// them: one that is newer than the driver opens and works with no GPU.
#pragma once
#include <atomic>

#include "base/error.h"
#include "base/warning.h"
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

// The functions of a library that a program can do without. That it is missing is told once, and it
// is looked for again where more directories have been named since.
template <class Functions> class FunctionsIfAny {
 public:
  // `open` throws where there is none; `without` is what happens then, before the reason.
  const Functions* get(const Functions& (*open)(), const char* without) {
    if (const Functions* f = found_.load(std::memory_order_acquire)) return f;
    const size_t named = library_directories();
    if (missed_ == named) return nullptr;
    try {
      found_ = &open();
    } catch (const Error& e) {
      missed_ = named;
      told_.warn(without, e.what());
    }
    return found_;
  }

 private:
  std::atomic<const Functions*> found_{nullptr};
  std::atomic<size_t> missed_{~size_t(0)};  // with so many directories
  ToldOnce told_;
};

}  // namespace flambeau::cuda
