// What CUDA's devices run, by CUPTI: the HAL's trace entries.
#pragma once
#include "device/hal.h"

namespace flambeau::cuda {

hal::Status trace_start(std::string* problem);
void trace_launch(uint64_t number);
void trace_stop(Activities* add_to);

}  // namespace flambeau::cuda
