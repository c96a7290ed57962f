// The driver is opened once and never closed: the runtime has it open as well.
#include "device/cuda/driver.h"

#include <dlfcn.h>

namespace flambeau::cuda::driver {

void* function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return driver ? dlsym(driver, name) : nullptr;
}

}  // namespace flambeau::cuda::driver
