// Whether CUDA can be used, and if not, which of the four reasons it is.
#pragma once
#include <string>

#include "device/hal.h"

namespace flambeau::cuda {

struct Availability {
  int devices = 0;
  hal::Status status = hal::Status::no_gpu;
  std::string reason;  // empty where there are devices
};

const Availability& availability();  // found out once

}  // namespace flambeau::cuda
