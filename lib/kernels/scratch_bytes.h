// How much working memory a kernel's launch wants on a device, asked of the kernel itself: its args
// have `size_t* wanted`, and where that is set its entry says a number and launches nothing. What
// CUB wants depends on the GPU, so CUDA's entries are asked with theirs current.
#pragma once
#include "device/call.h"

namespace flambeau {

template <class Args> size_t scratch_bytes(KernelFn fn, Device device, Args args) {
  size_t bytes = 0;
  args.wanted = &bytes;
  switch (kernel_column(device)) {
    case KernelColumn::host:
      break;  // has Scratch
    case KernelColumn::emu:
      fn(nullptr, &args);
      break;
    case KernelColumn::cuda:
      hal::call<&hal::Table::launch>(device, "scratch", nullptr, "scratch", fn, &args, sizeof args,
                                     std::span<const Access>());
      break;
  }
  return bytes;
}

}  // namespace flambeau
