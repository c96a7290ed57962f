// The current device of a vendor's runtime, which is not ours (runtime.h): other libraries of the
// vendor's look there. A provider that has such libraries enters itself when it is loaded.
#pragma once
#include "device/hal.h"

namespace flambeau::hal {

// Runs `run(user)`, which does not throw, while the device is CUDA's current one on this thread.
inline Status (*with_cuda_device)(int device, void (*run)(void* user), void* user) = nullptr;

}  // namespace flambeau::hal
