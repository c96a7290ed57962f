// What a device is and why there is none: properties, memory, the reason text. Beside runtime.h,
// for the ABI and for reports.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
  std::string uuid;  // "8932f937-d72c-4106-c12f-20bd9faed9f6"; empty where there is none
  int max_threads_per_block = 0, max_threads_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  size_t shared_memory_per_block_optin = 0, shared_memory_per_multiprocessor = 0;
  int clock_rate = 0, memory_clock_rate = 0;  // kHz
  int memory_bus_width = 0;                   // bits
  bool integrated = false, multi_gpu_board = false;
};

DeviceProperties device_properties(Device d);

// Every number among them by its key in flambeau/device.h.
struct NamedProperty {
  const char* key;
  int64_t value;
};
std::vector<NamedProperty> numbers_of(const DeviceProperties& p);
// Empty where devices of that type exist.
std::string unavailable_reason(DeviceType type);

struct MemoryInfo {
  size_t free = 0, total = 0;
};
MemoryInfo memory_info(Device d);  // as the device itself reports it, not the allocator

}  // namespace flambeau
