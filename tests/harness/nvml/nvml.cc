// A stand-in for NVML with its ABI, as far as device/cuda/nvml.h binds it. Its GPUs are those of
// the stand-in for the driver in reverse order, whatever CUDA_VISIBLE_DEVICES shows, so that a
// caller who takes CUDA's number for NVML's is wrong. It holds callers to initialising it first and
// to live handles. FLAMBEAU_STANDIN_NVML tells it not to work (broken), to lack a function (old),
// to have no power sensor (cool), parts of GPUs (mig), GPUs that are gone (lost), or more processes
// than a first guess (crowded).
#include "device/cuda/nvml.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "driver.h"

using namespace flambeau::cuda::nvml;

namespace flambeau::cuda::nvml {
struct GpuTag {
  int number;  // of the machine
};
}  // namespace flambeau::cuda::nvml

namespace {

constexpr int kUninitialised = 1, kInvalid = 2, kNotFound = 6, kNotLoaded = 9;

GpuTag g_gpus[most_devices];
bool g_ready = false;

bool told(const char* what) {
  const char* given = std::getenv("FLAMBEAU_STANDIN_NVML");
  return given && std::string_view(given) == what;
}

int breach(const char* function, const char* text, int error) {
  standin_breach((std::string(function) + ": " + text).c_str());
  return error;
}

// kSuccess, or what the call returns.
int check(const char* function) {
  return g_ready ? int(kSuccess) : breach(function, "before nvmlInit", kUninitialised);
}
int check(const char* function, Gpu gpu) {
  if (const int error = check(function); error != kSuccess) return error;
  const bool live = gpu >= g_gpus && gpu < g_gpus + standin_machine();
  if (!live) return breach(function, "no handle of a GPU", kInvalid);
  return told("lost") ? kGpuIsLost : kSuccess;
}

std::string uuid_of(int gpu) {
  unsigned char bytes[16];
  standin_uuid(gpu, bytes);
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char byte[3];
    std::snprintf(byte, sizeof byte, "%02x", bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

int copied(const std::string& text, char* out, unsigned bytes) {
  if (bytes <= text.size()) return kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

// Of the CUDA device that this GPU is, or of none.
Memory memory_of(int gpu) {
  constexpr unsigned long long kHidden = 64 << 20;
  int shown[most_devices];
  const int count = standin_devices(shown);
  for (int device = 0; device < count; ++device) {
    if (shown[device] != gpu) continue;
    size_t free_bytes = 0, total = 0;
    standin_memory(device, &free_bytes, &total);
    return {total, free_bytes, total - free_bytes};
  }
  return {kHidden, kHidden, 0};
}

}  // namespace

#define NVML(name, ...) extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__)
#define CHECK(...) \
  if (const int error = check(__func__ __VA_OPT__(, ) __VA_ARGS__); error != kSuccess) return error

NVML(nvmlInit_v2) {
  for (int i = 0; i < most_devices; ++i) g_gpus[i].number = i;
  g_ready = !told("broken");
  return g_ready ? int(kSuccess) : kNotLoaded;
}
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int error) {
  return error == kNotSupported ? "Not Supported"
         : error == kNotLoaded  ? "Driver Not Loaded"
         : error == kNotFound   ? "Not Found"
         : error == kGpuIsLost  ? "GPU is lost"
                                : "Unknown Error";
}
extern "C" int cuDriverGetVersion(int*);
NVML(nvmlSystemGetCudaDriverVersion_v2, int* out) {
  CHECK();
  return cuDriverGetVersion(out);
}
NVML(nvmlDeviceGetCount_v2, unsigned* out) {
  CHECK();
  *out = unsigned(standin_machine());
  return kSuccess;
}
NVML(nvmlDeviceGetHandleByIndex_v2, unsigned index, Gpu* out) {
  CHECK();
  if (int(index) >= standin_machine()) return kInvalid;
  *out = &g_gpus[standin_machine() - 1 - int(index)];
  return kSuccess;
}
NVML(nvmlDeviceGetHandleByUUID, const char* uuid, Gpu* out) {
  CHECK();
  for (int i = 0; i < standin_machine(); ++i) {
    if (uuid_of(i) != uuid) continue;
    *out = &g_gpus[i];
    return kSuccess;
  }
  return kNotFound;
}
NVML(nvmlDeviceGetUUID, Gpu gpu, char* out, unsigned bytes) {
  CHECK(gpu);
  return copied(uuid_of(gpu->number), out, bytes);
}
NVML(nvmlDeviceGetName, Gpu gpu, char* out, unsigned bytes) {
  CHECK(gpu);
  return copied("stand-in", out, bytes);
}
NVML(nvmlDeviceGetCudaComputeCapability, Gpu gpu, int* major, int* minor) {
  CHECK(gpu);
  *major = 9;
  *minor = 0;
  return kSuccess;
}
NVML(nvmlDeviceGetMigMode, Gpu gpu, unsigned* current, unsigned* pending) {
  CHECK(gpu);
  *current = *pending = told("mig");
  return kSuccess;
}
NVML(nvmlDeviceGetUtilizationRates, Gpu gpu, Utilization* out) {
  CHECK(gpu);
  *out = {50u + unsigned(gpu->number), 20u + unsigned(gpu->number)};
  return kSuccess;
}
NVML(nvmlDeviceGetMemoryInfo, Gpu gpu, Memory* out) {
  CHECK(gpu);
  *out = memory_of(gpu->number);
  return kSuccess;
}
NVML(nvmlDeviceGetTemperature, Gpu gpu, int sensor, unsigned* out) {
  CHECK(gpu);
  if (sensor != kTemperatureGpu) return kInvalid;
  *out = 40u + unsigned(gpu->number);
  return kSuccess;
}
NVML(nvmlDeviceGetPowerUsage, Gpu gpu, unsigned* out) {
  CHECK(gpu);
  if (told("cool")) return kNotSupported;
  *out = 300000u + unsigned(gpu->number);
  return kSuccess;
}
NVML(nvmlDeviceGetClockInfo, Gpu gpu, int kind, unsigned* out) {
  CHECK(gpu);
  if (kind != kClockSm) return kInvalid;
  *out = 1000u + unsigned(gpu->number);
  return kSuccess;
}
// This process, and others of which the driver does not tell the memory.
extern "C" int running_processes(Gpu gpu, unsigned* count, ProcessInfo* out) {
  if (const int error = check("nvmlDeviceGetComputeRunningProcesses_v3", gpu)) return error;
  const unsigned room = *count;
  *count = told("crowded") ? 40 : 2;
  if (room < *count) return kInsufficientSize;
  for (unsigned i = 0; i < *count; ++i) out[i] = {i + 1, kNotAvailable, 0, 0};
  out[0] = {unsigned(getpid()), memory_of(gpu->number).used, 0, 0};
  return kSuccess;
}
// Asked whenever somebody looks for the function, which is not there where this is null.
extern "C" decltype(running_processes)* find_running_processes() {
  return told("old") ? nullptr : running_processes;
}
NVML(nvmlDeviceGetComputeRunningProcesses_v3, Gpu, unsigned*, ProcessInfo*)
__attribute__((ifunc("find_running_processes")));
