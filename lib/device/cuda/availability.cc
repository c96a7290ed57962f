// The questions in the order in which the answer "no" explains most: is there a driver, is it new
// enough, does it show devices, does this library have code for one of them. The runtime is linked
// statically and opens the driver itself, so that all this works on a machine without one.
#include "device/cuda/availability.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/error.h"
#include "device/cuda/architectures.h"
#include "device/cuda/nvml.h"
#include "device/cuda/status.h"
#include "device/cuda/versions.h"
#include "device/cuda/visible.h"
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

Availability too_old(int driver) {
  return none(
      Status::driver_too_old,
      cat_text("the NVIDIA driver is too old: it serves CUDA ", version_text(driver),
               ", this library needs one for CUDA ", runtime_version() / 1000, ".0 or newer"));
}

Availability no_code(const std::string& gpus) {
  return none(Status::no_kernel_image, cat_text("this library has no code for ", gpus, ", but for ",
                                                FLAM_CUDA_ARCHITECTURES));
}

// A list of GPUs for which there is no code.
void append(std::string& list, const char* name, int major, int minor) {
  list += cat_text(list.empty() ? "" : ", ", name, " (compute capability ", major, '.', minor, ')');
}

Availability of_driver() {
  const int driver = driver_version();
  if (driver / 1000 < runtime_version() / 1000) return too_old(driver);
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorInsufficientDriver) return too_old(driver);
  if (counted != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    return no_device(counted == cudaSuccess ? cudaErrorNoDevice : counted);
  }
  std::string lacks;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    ignore(cudaGetDeviceProperties(&p, i));
    if (has_code(FLAM_CUDA_ARCHITECTURES, p.major, p.minor))
      return {std::min(count, kMaxDevices), Status::ok, {}};
    append(lacks, p.name, p.major, p.minor);
  }
  return no_code(lacks);
}

// The GPUs of the machine, whatever the driver shows of them.
struct Machine {
  std::vector<std::string> uuids;
  size_t with_code = 0;
  std::string lacks;
  bool divided = false;  // a GPU is used in parts, of which each is a device
};

Machine look(const nvml::Functions& f) {
  Machine m;
  unsigned count = 0;
  if (f.count(&count) != nvml::kSuccess) return m;
  for (unsigned i = 0; i < count; ++i) {
    nvml::Gpu gpu = nullptr;
    char uuid[nvml::kUuidSize] = {}, name[nvml::kUuidSize] = {};
    int major = 0, minor = 0;
    unsigned mig = 0, pending = 0;
    const bool told = f.by_index(i, &gpu) == nvml::kSuccess &&
                      f.uuid(gpu, uuid, sizeof uuid) == nvml::kSuccess &&
                      f.name(gpu, name, sizeof name) == nvml::kSuccess &&
                      f.capability(gpu, &major, &minor) == nvml::kSuccess;
    if (!told) return {};
    m.divided |= f.mig_mode(gpu, &mig, &pending) == nvml::kSuccess && mig != 0;
    m.uuids.emplace_back(uuid);
    if (has_code(FLAM_CUDA_ARCHITECTURES, major, minor))
      ++m.with_code;
    else
      append(m.lacks, name, major, minor);
  }
  return m;
}

// By NVML, which leaves CUDA uninitialised and a process free to fork; nothing where it is not
// there, or where the answer depends on which of several GPUs is shown.
std::optional<Availability> of_nvml() {
  const nvml::Functions* f = nvml::functions_if_any();
  int driver = 0;
  if (!f || f->driver_version(&driver) != nvml::kSuccess) return {};
  if (driver / 1000 < runtime_version() / 1000) return too_old(driver);
  const Machine m = look(*f);
  if (m.uuids.empty() || m.divided) return {};
  if (m.with_code == 0) return no_code(m.lacks);
  if (m.with_code < m.uuids.size()) return {};
  const auto shown = visible_devices(std::getenv("CUDA_VISIBLE_DEVICES"), m.uuids);
  if (!shown) return {};
  if (*shown == 0) return no_device(cudaErrorNoDevice);
  return Availability{int(std::min(*shown, size_t(kMaxDevices))), Status::ok, {}};
}

Availability find_out() {
  if (const std::string problem = missing_driver(); !problem.empty())
    return none(Status::no_gpu, "there is no NVIDIA driver: " + problem);
  const std::optional<Availability> found = of_nvml();
  return found ? *found : of_driver();
}

}  // namespace

int runtime_version() {
  int version = 0;
  ignore(cudaRuntimeGetVersion(&version));
  return version;
}

int driver_version() {
  int version = 0;
  ignore(cudaDriverGetVersion(&version));
  return version;
}

const Availability& availability() {
  static const Availability& found = *new Availability(find_out());
  return found;
}

}  // namespace flambeau::cuda
