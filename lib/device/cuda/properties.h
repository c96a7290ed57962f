// A CUDA device's properties. Asking initialises CUDA, but makes no context.
#pragma once
#include "device/hal.h"

namespace flambeau::cuda {

hal::Status properties(int device, DeviceProperties* out);

}  // namespace flambeau::cuda
