// Asked of the driver, for the runtime has no such question. What was seen once is taken to stay:
// only a reset of the device, after which nothing of it can be used, takes a context away.
#include "device/cuda/context.h"

#include <array>
#include <atomic>

#include "device/cuda/driver.h"
#include "device/limits.h"

namespace flambeau::cuda {
namespace {

// cuDevicePrimaryCtxGetState; a device is its number.
using GetState = int (*)(int device, unsigned* flags, int* active);

GetState get_state() {
  static const GetState found = [] {
    GetState f;
    driver::bind(f, "cuDevicePrimaryCtxGetState");
    return f;
  }();
  return found;
}

std::array<std::atomic<bool>, kMaxDevices> g_seen{};

}  // namespace

bool has_context(int device) {
  if (device < 0 || device >= kMaxDevices) return false;
  std::atomic<bool>& seen = g_seen[size_t(device)];
  if (seen.load(std::memory_order_relaxed)) return true;
  unsigned flags = 0;
  int active = 0;
  if (!get_state() || get_state()(device, &flags, &active) != 0 || !active) return false;
  seen.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace flambeau::cuda
