// While it lives, a kernel runs its emulated CUDA body on the cpu's tensors, so that one set of
// checks serves both.
#pragma once
#include <algorithm>

#include "kernels/kernel.h"

namespace flambeau {

class Emulated {
 public:
  explicit Emulated(Kernel& kernel) : kernel_(kernel) {
    std::copy_n(kernel.cells[0], kComputedDtypes, host_);
    std::copy_n(kernel.cells[int(KernelColumn::emu)], kComputedDtypes, kernel.cells[0]);
  }
  ~Emulated() { std::copy_n(host_, kComputedDtypes, kernel_.cells[0]); }
  Emulated(const Emulated&) = delete;
  Emulated& operator=(const Emulated&) = delete;

  bool present() const {
    return std::any_of(kernel_.cells[0], kernel_.cells[0] + kComputedDtypes,
                       [](KernelFn fn) { return fn != nullptr; });
  }

 private:
  Kernel& kernel_;
  KernelFn host_[kComputedDtypes];
};

// Builds without the emulation header's library have no such bodies: the test says so.
#define FLAM_EMULATED(name, kernel) \
  const Emulated name(kernel);      \
  if (!name.present()) GTEST_SKIP() << "built without emulated CUDA kernels"

}  // namespace flambeau
