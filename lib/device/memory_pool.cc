// Private pools and which of them a thread allocates from; the memory is the allocator's.
#include "device/memory_pool.h"

#include <array>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/thread_local.h"
#include "base/thread_state.h"
#include "device/allocator.h"
#include "device/limits.h"

using flambeau::allocator_of;

flam_memory_pool::flam_memory_pool(flambeau::Device d)
    : device(flambeau::resolve(d)), id([] {
        static std::atomic<uint32_t> last{0};
        return ++last;
      }()) {
  flambeau::check(!device.is_cpu(), flambeau::Code::unsupported,
                  "private pools hold a GPU's memory; the cpu has none");
  allocator_of(device).keep_pool(id);
}

flam_memory_pool::~flam_memory_pool() { allocator_of(device).drop_pool(id); }

namespace flambeau {

namespace {
using PoolIds = std::array<uint32_t, 2 * kMaxDevices>;
FLAM_THREAD_LOCAL PoolIds t_pools{};
const Carried<PoolIds> carried_pools([]() -> PoolIds& { return t_pools; });
}  // namespace

uint32_t pool_in_use(Device d) noexcept { return t_pools[size_t(device_slot(d))]; }

uint32_t use_pool(Device d, uint32_t id) noexcept {
  return std::exchange(t_pools[size_t(device_slot(d))], id);
}

}  // namespace flambeau
