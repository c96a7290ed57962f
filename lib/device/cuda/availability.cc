// The questions in the order in which the answer "no" explains most: is there a driver, is it new
// enough, does it show devices, does this library have code for one of them. The runtime is linked
// statically and opens the driver itself, so that all this works on a machine without one.
#include "device/cuda/availability.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "device/cuda/architectures.h"
#include "device/cuda/status.h"
#include "device/cuda/versions.h"
#include "device/limits.h"

namespace flambeau::cuda {
namespace {

using hal::Status;

std::string version_text(int v) { return cat_text(v / 1000, '.', v % 1000 / 10); }

// Empty where the driver library opens.
std::string missing_driver() {
  if (void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(handle);
    return {};
  }
  const char* problem = dlerror();
  return problem ? problem : "libcuda.so.1: not found";
}

Availability none(Status status, std::string reason) { return {0, status, std::move(reason)}; }

Availability no_device(cudaError_t error) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string reason = cat_text("the NVIDIA driver shows no device (", cudaGetErrorName(error),
                                ": ", cudaGetErrorString(error), ")");
  if (visible) reason += cat_text("; CUDA_VISIBLE_DEVICES is \"", visible, '"');
  return none(Status::no_gpu, reason);
}

Availability find_out() {
  if (const std::string problem = missing_driver(); !problem.empty())
    return none(Status::no_gpu, "there is no NVIDIA driver: " + problem);
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver / 1000 < runtime / 1000)
    return none(Status::driver_too_old,
                cat_text("the NVIDIA driver is too old: it serves CUDA ", version_text(driver),
                         ", this library needs one for CUDA ", runtime / 1000, ".0 or newer"));
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorInsufficientDriver)
    return none(Status::driver_too_old,
                cat_text("the NVIDIA driver is too old for CUDA ", version_text(runtime),
                         ": it serves CUDA ", version_text(driver)));
  if (counted != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    return no_device(counted == cudaSuccess ? cudaErrorNoDevice : counted);
  }
  std::string lacks;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    cudaGetDeviceProperties(&p, i);
    if (has_code(FLAM_CUDA_ARCHITECTURES, p.major, p.minor))
      return {std::min(count, kMaxDevices), Status::ok, {}};
    lacks += cat_text(i ? ", " : "", p.name, " (compute capability ", p.major, '.', p.minor, ')');
  }
  return none(Status::no_kernel_image, cat_text("this library has no code for ", lacks,
                                                ", but for ", FLAM_CUDA_ARCHITECTURES));
}

}  // namespace

int runtime_version() {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return version;
}

const Availability& availability() {
  static const Availability& found = *new Availability(find_out());
  return found;
}

}  // namespace flambeau::cuda
