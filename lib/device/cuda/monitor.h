// What NVML tells of CUDA's devices, which it knows by their UUIDs.
#pragma once
#include <vector>

#include "device/hal.h"

namespace flambeau::cuda {

hal::Status reading(int device, hal::Reading what, int64_t* out);
hal::Status processes(int device, std::vector<hal::Process>* out);

}  // namespace flambeau::cuda
