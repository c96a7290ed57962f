// Whether CUDA can be used, and if not, which of the four reasons it is.
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "device/hal.h"

namespace flambeau::cuda {

struct Availability {
  int devices = 0;
  hal::Status status = hal::Status::no_gpu;
  std::string reason;  // empty where there are devices
};

const Availability& availability();  // found out once

// Whether this library has code that device 0 can run; asks CUDA for the attributes of a kernel of
// ours.
cudaError_t probe_kernel_image();

}  // namespace flambeau::cuda
