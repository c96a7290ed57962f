// The part of NVML, the driver's library for monitoring, that is used: declared here so that no
// header of it is needed, values are those of nvml.h. It answers without a context and without
// initialising CUDA, numbers GPUs in its own order, and knows nothing of CUDA_VISIBLE_DEVICES.
#pragma once
#include "device/library.h"

namespace flambeau::cuda::nvml {

using Gpu = struct GpuTag*;

enum : int { kSuccess = 0, kNotSupported = 3, kInsufficientSize = 7, kGpuIsLost = 15 };
enum : int { kTemperatureGpu = 0, kClockSm = 1, kUuidSize = 96 };
inline constexpr unsigned long long kNotAvailable = ~0ull;  // NVML_VALUE_NOT_AVAILABLE

struct Utilization {
  unsigned gpu, memory;  // percent
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

struct Functions {
  int (*init)();
  const char* (*error_string)(int);
  int (*driver_version)(int*);  // of CUDA: 13000 is 13.0
  int (*count)(unsigned*);
  int (*by_index)(unsigned, Gpu*);
  int (*by_uuid)(const char*, Gpu*);
  int (*uuid)(Gpu, char*, unsigned bytes);
  int (*name)(Gpu, char*, unsigned bytes);
  int (*capability)(Gpu, int* major, int* minor);
  int (*mig_mode)(Gpu, unsigned* current, unsigned* pending);
  int (*utilization)(Gpu, Utilization*);
  int (*memory)(Gpu, Memory*);
  int (*temperature)(Gpu, int sensor, unsigned*);
  int (*power)(Gpu, unsigned* milliwatts);
  int (*clock)(Gpu, int kind, unsigned* megahertz);
  int (*processes)(Gpu, unsigned* count, ProcessInfo*);
};

// Opens and initialises the library on first use; throws Error(library missing, library version).
const Functions& functions();
// Null where it cannot be opened.
const Functions* functions_if_any();

}  // namespace flambeau::cuda::nvml
