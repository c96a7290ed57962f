// Virtual memory of the stand-in. Its contract: whole pages, addresses that are reserved, memory of
// their device that is mapped once and accessible before it is used; unmapping takes whole mapped
// parts, of a device that has nothing left to do, and frees nothing that is still mapped. A handle
// that nobody gave up when the process ends breaks it, too.
#include <algorithm>
#include <map>
#include <mutex>

#include "contract.h"
#include "device/cuda/driver.h"
#include "device/sim/arena.h"
#include "driver.h"

using namespace cuda_runtime;
using namespace flambeau::cuda::driver;
using flambeau::hal::Status;

extern "C" void standin_offers_pages(const Pages* pages);

namespace {

constexpr size_t kPage = size_t(2) << 20;

struct Mapping {
  size_t bytes;
  int device;
  bool accessible = false;
};
struct Created {
  size_t bytes;
  int device;
};

std::mutex g_mutex;
std::map<Address, size_t> g_ranges;
std::map<Address, Mapping> g_mappings;
std::map<Handle, Created> g_handles;
Handle g_last = 0;

void* pointer(Address at) { return reinterpret_cast<void*>(at); }
bool whole(Address n) { return n > 0 && n % kPage == 0; }

// Whether [at, at + bytes) is made up of mappings; calls f(address, mapping) for each if so.
template <class F>
bool each_mapping(Address at, size_t bytes, F&& f) {
  const auto first = g_mappings.find(at);
  auto end = first;
  Address next = at;
  for (; end != g_mappings.end() && end->first == next && next < at + bytes; ++end)
    next += end->second.bytes;
  if (first == end || next != at + bytes) return false;
  for (auto it = first; it != end; ++it) f(it->first, it->second);
  return true;
}

int granularity(size_t* out, const Allocation* what, int kind) {
  const Call call("cuMemGetAllocationGranularity");
  if (what->type != kPinned || what->location.type != kOnDevice || kind != kMinimum)
    return call.breaks(cudaErrorInvalidValue, "memory of another kind");
  *out = kPage;
  return call.returns(cudaSuccess);
}

int reserve(Address* out, size_t bytes, size_t alignment, Address, unsigned long long flags) {
  const Call call("cuMemAddressReserve");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  if (!whole(bytes) || alignment % kPage != 0 || flags)
    return call.breaks(cudaErrorInvalidValue, bytes, " bytes aligned to ", alignment);
  void* data = nullptr;
  const Status status = devices().reserve(call.current, bytes, &data);
  const std::lock_guard lock(g_mutex);
  if (status == Status::ok) g_ranges[*out = reinterpret_cast<Address>(data)] = bytes;
  return call.answer(status);
}

int release(Address at, size_t bytes) {
  const Call call("cuMemAddressFree");
  const std::lock_guard lock(g_mutex);
  const auto range = g_ranges.find(at);
  if (range == g_ranges.end() || range->second != bytes)
    return call.breaks(cudaErrorInvalidValue, pointer(at), " is no reserved range");
  const auto inside = g_mappings.lower_bound(at);
  if (inside != g_mappings.end() && inside->first < at + bytes)
    return call.breaks(cudaErrorInvalidValue, pointer(inside->first), " is still mapped");
  g_ranges.erase(range);
  const int device = flambeau::sim::Arena::instance().device_of(pointer(at));
  return call.answer(devices().release(device, pointer(at), bytes));
}

// Memory is taken from the device when it is made accessible; until then it is only counted.
int create(Handle* out, size_t bytes, const Allocation* what, unsigned long long flags) {
  const Call call("cuMemCreate");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  const int device = what->location.id;
  if (!whole(bytes) || flags || device < 0 || device >= standin_devices(nullptr))
    return call.breaks(cudaErrorInvalidValue, bytes, " bytes on device ", device);
  size_t free_bytes = 0, total = 0;
  devices().memory_info(device, &free_bytes, &total);
  const std::lock_guard lock(g_mutex);
  for (const auto& [handle, made] : g_handles) free_bytes -= std::min(free_bytes, made.bytes);
  if (free_bytes < bytes) return call.returns(cudaErrorMemoryAllocation);
  g_handles[*out = ++g_last] = {bytes, device};
  return call.returns(cudaSuccess);
}

int destroy(Handle handle) {
  const Call call("cuMemRelease");
  const std::lock_guard lock(g_mutex);
  if (g_handles.erase(handle) == 0)
    return call.breaks(cudaErrorInvalidValue, "a dead handle of memory");
  return call.returns(cudaSuccess);
}

int map(Address at, size_t bytes, size_t offset, Handle handle, unsigned long long flags) {
  const Call call("cuMemMap");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  const std::lock_guard lock(g_mutex);
  const auto made = g_handles.find(handle);
  if (made == g_handles.end()) return call.breaks(cudaErrorInvalidValue, "a dead handle of memory");
  if (!whole(at) || bytes != made->second.bytes || offset || flags)
    return call.breaks(cudaErrorInvalidValue, bytes, " bytes at ", pointer(at), " + ", offset);
  auto range = g_ranges.upper_bound(at);
  if (range == g_ranges.begin() || at + bytes > (--range)->first + range->second)
    return call.breaks(cudaErrorInvalidValue, pointer(at), " is not reserved");
  auto after = g_mappings.lower_bound(at + bytes);
  if (after != g_mappings.begin() && (--after)->first + after->second.bytes > at)
    return call.breaks(cudaErrorInvalidValue, pointer(at), " is mapped already");
  if (flambeau::sim::Arena::instance().device_of(pointer(at)) != made->second.device)
    return call.breaks(cudaErrorInvalidValue, pointer(at), " was reserved for another device");
  g_mappings[at] = {bytes, made->second.device};
  return call.returns(cudaSuccess);
}

int set_access(Address at, size_t bytes, const Access* access, size_t count) {
  const Call call("cuMemSetAccess");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  const std::lock_guard lock(g_mutex);
  Status status = Status::ok;
  const bool mapped = each_mapping(at, bytes, [&](Address begin, Mapping& m) {
    const bool own = count == 1 && access->flags == kReadWrite && access->location.id == m.device;
    if (!own) status = Status::invalid;
    if (!own || m.accessible || status != Status::ok) return;
    status = devices().map(m.device, pointer(begin), m.bytes);
    m.accessible = status == Status::ok;
    if (m.accessible) add_pages(pointer(begin), m.bytes, m.device);
  });
  if (!mapped || status == Status::invalid)
    return call.breaks(cudaErrorInvalidValue, bytes, " bytes at ", pointer(at),
                       mapped ? " for another device" : " are not mapped");
  return call.answer(status);
}

int unmap(Address at, size_t bytes) {
  const Call call("cuMemUnmap");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  const std::lock_guard lock(g_mutex);
  bool busy = false;
  const bool mapped = each_mapping(at, bytes, [&](Address, Mapping& m) {
    int64_t use = 0;
    devices().reading(m.device, flambeau::hal::Reading::utilization, &use);
    busy |= m.accessible && use != 0;
  });
  if (!mapped || busy)
    return call.breaks(cudaErrorInvalidValue, bytes, " bytes at ", pointer(at),
                       mapped ? " while their device works" : " are not whole mapped parts");
  each_mapping(at, bytes, [&](Address begin, Mapping& m) {
    if (!m.accessible) return;
    remove_pages(pointer(begin));
    devices().unmap(m.device, pointer(begin), m.bytes);
  });
  g_mappings.erase(g_mappings.lower_bound(at), g_mappings.lower_bound(at + bytes));
  return call.returns(cudaSuccess);
}

constexpr Pages kPages{granularity, reserve, release, create, destroy, map, unmap, set_access};

struct Watch {
  Watch() { standin_offers_pages(&kPages); }
  ~Watch() {
    if (!g_handles.empty()) standin_breach("at the end: handles of memory that nobody released");
  }
} g_watch;

}  // namespace
