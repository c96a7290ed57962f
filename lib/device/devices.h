// What a device is and why there is none: properties, memory, the reason text. Beside runtime.h,
// for the ABI and for reports.
#pragma once
#include <cstddef>
#include <string>

#include "base/device.h"

namespace flambeau {

struct DeviceProperties {
  std::string name;
  size_t total_memory = 0;   // bytes
  int major = 0, minor = 0;  // compute capability; 0.0 where there is none
  int multiprocessors = 0;   // cpu: logical cores
  int warp_size = 0;
  size_t shared_memory_per_block = 0;
  size_t l2_cache = 0;
};

DeviceProperties device_properties(Device d);
// Empty where devices of that type exist.
std::string unavailable_reason(DeviceType type);

struct MemoryInfo {
  size_t free = 0, total = 0;
};
MemoryInfo memory_info(Device d);  // as the device itself reports it, not the allocator

}  // namespace flambeau
