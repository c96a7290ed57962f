// Opening NVML. A failed attempt is repeated at the next use, as cuBLASLt's.
#include "device/cuda/nvml.h"

#include "base/error.h"

namespace flambeau::cuda::nvml {
namespace {

Functions load() {
  static constexpr const char* sonames[] = {"libnvidia-ml.so.1"};
  const Library lib =
      Library::open({"NVML", sonames, {}, "install NVIDIA's driver, of which it is a part"});
  Functions f{};
  const auto bind = [&](auto& pointer, const char* name) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(lib.symbol(name));
  };
  bind(f.init, "nvmlInit_v2");
  bind(f.error_string, "nvmlErrorString");
  bind(f.driver_version, "nvmlSystemGetCudaDriverVersion_v2");
  bind(f.count, "nvmlDeviceGetCount_v2");
  bind(f.by_index, "nvmlDeviceGetHandleByIndex_v2");
  bind(f.by_uuid, "nvmlDeviceGetHandleByUUID");
  bind(f.uuid, "nvmlDeviceGetUUID");
  bind(f.name, "nvmlDeviceGetName");
  bind(f.capability, "nvmlDeviceGetCudaComputeCapability");
  bind(f.mig_mode, "nvmlDeviceGetMigMode");
  bind(f.utilization, "nvmlDeviceGetUtilizationRates");
  bind(f.memory, "nvmlDeviceGetMemoryInfo");
  bind(f.temperature, "nvmlDeviceGetTemperature");
  bind(f.power, "nvmlDeviceGetPowerUsage");
  bind(f.clock, "nvmlDeviceGetClockInfo");
  bind(f.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  const int problem = f.init();  // never shut down: the process may ask until its end
  check(problem == kSuccess, Code::library_version, "NVML at ", lib.path(),
        " cannot be used: ", f.error_string(problem));
  return f;
}

}  // namespace

const Functions& functions() {
  static const Functions f = load();  // an exception leaves it uninitialised
  return f;
}

const Functions* functions_if_any() {
  try {
    return &functions();
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace flambeau::cuda::nvml
