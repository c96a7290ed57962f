// The memory calls of runtime.h: which allocator answers for a device, pinned memory, and the
// statistics of both.
#include <array>
#include <atomic>

#include "base/error.h"
#include "device/allocator.h"
#include "device/allocator_settings.h"
#include "device/call.h"
#include "device/devices.h"
#include "device/front.h"
#include "device/limits.h"
#include "device/probe.h"
#include "device/streams.h"

namespace flambeau {
namespace {

using hal::Table;

std::array<std::atomic<CachingAllocator*>, 2 * kMaxDevices> g_allocators{};
std::atomic<CachingAllocator*> g_pinned{nullptr};

CachingAllocator& made_once(std::atomic<CachingAllocator*>& slot, Device d, MemoryKind kind) {
  CachingAllocator* a = slot.load(std::memory_order_acquire);
  if (a) return *a;
  auto fresh = std::make_unique<CachingAllocator>(d, kind);
  if (!slot.compare_exchange_strong(a, fresh.get(), std::memory_order_acq_rel)) return *a;
  CachingAllocator& made = *fresh.release();  // from here on others may have it
  // Settings may have changed before it was there to see; they were read once, so they are sound.
  if (kind == MemoryKind::device) configure_as_set(made);
  return made;
}

// Page-locked memory belongs to an accelerator's driver; any device of it can use the pages.
Device accelerator() {
  for (DeviceType type : {DeviceType::cuda, DeviceType::sim})
    if (device_count(type) > 0) return {type, 0};
  throw Error(Code::no_gpu, "pinned memory needs an accelerator, and there is none",
              unavailable_reason(DeviceType::cuda),
              "use ordinary host memory on a machine without a GPU");
}

// A place for a storage without elements: of no memory on any machine, and of no other storage but
// after 2^62 bytes of them.
void* nowhere(size_t bytes) {
  constexpr uint64_t kFirst = uint64_t(1) << 56, kRange = uint64_t(1) << 62, kAlignment = 512;
  static std::atomic<uint64_t> next{0};
  const uint64_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return reinterpret_cast<void*>(kFirst + next.fetch_add(size, std::memory_order_relaxed) % kRange);
}

}  // namespace

CachingAllocator& allocator_of(Device d) {
  check(!d.is_meta(), Code::unsupported, "tensors on meta have no elements, and take no memory");
  if (d.is_cpu()) {
    static CachingAllocator& cpu = *new CachingAllocator(kCpu, MemoryKind::device);
    return cpu;
  }
  return made_once(g_allocators[size_t(device_slot(d))], d, MemoryKind::device);
}

CachingAllocator& pinned_allocator() {
  if (CachingAllocator* a = pinned_allocator_if_any()) return *a;
  return made_once(g_pinned, accelerator(), MemoryKind::pinned);
}

CachingAllocator* pinned_allocator_if_any() noexcept {
  return g_pinned.load(std::memory_order_acquire);
}

namespace {

Memory allocate_largely(Device d, size_t bytes) {
  const Stream s = current_stream(resolve(d));
  Block* b = allocator_of(s.device).allocate(bytes, s.id);
  if (s.device.is_cpu()) return {b->data, b};
  const hal::Status status = hal::try_call<&Table::note_block>(
      s.device, native_stream(s), hal::BlockNote::acquired, b->data, b->size);
  if (status != hal::Status::ok) {
    deallocate(b);
    hal::raise(s.device, "memory allocation", status);
  }
  return {b->data, b};
}

Memory allocate_noted(Device d, size_t bytes) {
  const bool small = d.is_cpu() && bytes <= kFrontLargest;
  const Memory m = small ? front_allocate(bytes) : allocate_largely(d, bytes);
  probe::note_memory(m.block->segment->owner->device(), int64_t(m.block->size));
  return m;
}

}  // namespace

Memory allocate(Device d, size_t bytes) {
  if (bytes == 0) {
    if (!d.is_cpu()) resolve(d);
    return {};
  }
  if (d.is_meta()) [[unlikely]]
    return {nowhere(bytes), nullptr};
  if (probe::on()) [[unlikely]]
    return allocate_noted(d, bytes);
  if (d.is_cpu() && bytes <= kFrontLargest) [[likely]]
    return front_allocate(bytes);
  return allocate_largely(d, bytes);
}

void deallocate(Block* b) noexcept {
  if (!b) return;
  if (probe::on() && b->segment->owner->kind() == MemoryKind::device) [[unlikely]]
    probe::note_memory(b->segment->owner->device(), -int64_t(b->size));
  if (b->front_class >= 0) return front_deallocate(b);
  b->segment->owner->deallocate(b);
}

void record_stream(Block* b, Stream s) {
  if (b) b->segment->owner->record_stream(b, s);
}

Memory allocate_pinned(size_t bytes) {
  CachingAllocator& pinned = pinned_allocator();
  if (bytes == 0) return {};
  Block* b = pinned.allocate(bytes, 0);
  return {b->data, b};
}

bool is_pinned(const void* host) {
  CachingAllocator* pinned = pinned_allocator_if_any();
  return pinned && pinned->find(host) != nullptr;
}

void wait_for_host_access(const Block* b) {
  if (!b) return;
  CachingAllocator* owner = b->segment->owner;
  if (owner->kind() == MemoryKind::pinned) owner->wait_for_copies(const_cast<Block*>(b));
}

// ---- statistics ---------------------------------------------------------------------------------

namespace {

// A front's counts are exact for this thread once flushed; other threads' are added.
CachingAllocator& flushed(Device d) {
  d = resolve(d);
  if (d.is_cpu()) front_flush();
  return allocator_of(d);
}

}  // namespace

MemoryStats memory_stats(Device d) {
  CachingAllocator& a = flushed(d);
  MemoryStats stats = a.stats();
  if (a.device().is_cpu()) add_unmerged_fronts(stats);
  return stats;
}

void reset_peak_memory_stats(Device d) { flushed(d).reset_peak(); }
void reset_accumulated_memory_stats(Device d) { flushed(d).reset_accumulated(); }
void empty_cache(Device d) { flushed(d).empty_cache(); }
void set_per_process_memory_fraction(double fraction, Device d) {
  flushed(d).set_fraction(fraction);
}
double per_process_memory_fraction(Device d) { return flushed(d).fraction(); }

MemoryStats pinned_memory_stats() {
  CachingAllocator* pinned = pinned_allocator_if_any();
  return pinned ? pinned->stats() : MemoryStats{};
}

void empty_pinned_cache() {
  if (CachingAllocator* pinned = pinned_allocator_if_any()) pinned->empty_cache();
}

std::vector<CachingAllocator*> all_allocators() {
  std::vector<CachingAllocator*> all{&allocator_of(kCpu)};
  for (auto& slot : g_allocators)
    if (CachingAllocator* a = slot.load(std::memory_order_acquire)) all.push_back(a);
  return all;
}

}  // namespace flambeau
