// A device's number is CUDA's, which CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER shift; NVML's
// number is not asked for.
#include "device/cuda/monitor.h"

#include <cstring>

#include "base/error.h"
#include "device/cuda/nvml.h"
#include "device/cuda/properties.h"
#include "device/cuda/status.h"

namespace flambeau::cuda {
namespace {

using hal::Reading;
using hal::Status;

Status answer(int error) {
  if (error == nvml::kSuccess) return Status::ok;
  const Status status = error == nvml::kNotSupported ? Status::unsupported
                        : error == nvml::kGpuIsLost  ? Status::device_lost
                                                     : Status::internal;
  return failed(status, cat_text("NVML: ", nvml::functions().error_string(error)));
}

// A whole GPU's UUID or that of a part of one (MIG): the words before it tell them apart.
Status find(int device, nvml::Gpu* out) {
  DeviceProperties p;
  if (const Status status = properties(device, &p); status != Status::ok) return status;
  int error = nvml::kSuccess;
  for (const char* kind : {"GPU-", "MIG-"}) {
    error = nvml::functions().by_uuid((kind + p.uuid).c_str(), out);
    if (error == nvml::kSuccess) break;
  }
  return answer(error);
}

template <class T, class F>
int into(int64_t* out, F&& ask) {
  T value{};
  const int error = ask(&value);
  if (error == nvml::kSuccess) *out = int64_t(value);
  return error;
}

int read(nvml::Gpu gpu, Reading what, int64_t* out) {
  const nvml::Functions& f = nvml::functions();
  nvml::Utilization busy{};
  nvml::Memory memory{};
  switch (what) {
    case Reading::utilization:
    case Reading::memory_utilization: {
      const int error = f.utilization(gpu, &busy);
      *out = what == Reading::utilization ? busy.gpu : busy.memory;
      return error;
    }
    case Reading::memory_used:
    case Reading::memory_free:
    case Reading::memory_total: {
      const int error = f.memory(gpu, &memory);
      *out = int64_t(what == Reading::memory_used   ? memory.used
                     : what == Reading::memory_free ? memory.free
                                                    : memory.total);
      return error;
    }
    case Reading::temperature:
      return into<unsigned>(
          out, [&](unsigned* v) { return f.temperature(gpu, nvml::kTemperatureGpu, v); });
    case Reading::power_draw:
      return into<unsigned>(out, [&](unsigned* v) { return f.power(gpu, v); });
    default:
      return into<unsigned>(out, [&](unsigned* v) { return f.clock(gpu, nvml::kClockSm, v); });
  }
}

}  // namespace

Status reading(int device, Reading what, int64_t* out) {
  nvml::Gpu gpu = nullptr;
  const Status status = find(device, &gpu);
  return status == Status::ok ? answer(read(gpu, what, out)) : status;
}

Status processes(int device, std::vector<hal::Process>* out) {
  nvml::Gpu gpu = nullptr;
  if (const Status status = find(device, &gpu); status != Status::ok) return status;
  std::vector<nvml::ProcessInfo> infos(32);
  int error = nvml::kSuccess;
  for (int attempt = 0; attempt < 5; ++attempt) {  // others start processes meanwhile
    auto count = unsigned(infos.size());
    error = nvml::functions().processes(gpu, &count, infos.data());
    infos.resize(error == nvml::kInsufficientSize ? count + 8 : count);
    if (error != nvml::kInsufficientSize) break;
  }
  if (error != nvml::kSuccess) return answer(error);
  for (const nvml::ProcessInfo& p : infos)
    out->push_back({p.pid, p.used_memory == nvml::kNotAvailable ? -1 : int64_t(p.used_memory)});
  return Status::ok;
}

}  // namespace flambeau::cuda
