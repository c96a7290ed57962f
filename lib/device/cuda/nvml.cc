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
  lib.bind(f.init, "nvmlInit_v2");
  lib.bind(f.error_string, "nvmlErrorString");
  lib.bind(f.driver_version, "nvmlSystemGetCudaDriverVersion_v2");
  lib.bind(f.count, "nvmlDeviceGetCount_v2");
  lib.bind(f.by_index, "nvmlDeviceGetHandleByIndex_v2");
  lib.bind(f.by_uuid, "nvmlDeviceGetHandleByUUID");
  lib.bind(f.uuid, "nvmlDeviceGetUUID");
  lib.bind(f.name, "nvmlDeviceGetName");
  lib.bind(f.capability, "nvmlDeviceGetCudaComputeCapability");
  lib.bind(f.mig_mode, "nvmlDeviceGetMigMode");
  lib.bind(f.utilization, "nvmlDeviceGetUtilizationRates");
  lib.bind(f.memory, "nvmlDeviceGetMemoryInfo");
  lib.bind(f.temperature, "nvmlDeviceGetTemperature");
  lib.bind(f.power, "nvmlDeviceGetPowerUsage");
  lib.bind(f.clock, "nvmlDeviceGetClockInfo");
  lib.bind(f.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
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
