// The caching allocator's core: find, cut, join, free. Growth and out of memory are in
// allocator_grow.cc, uses by other streams in allocator_streams.cc.
#include "device/allocator.h"

#include <algorithm>

#include "base/error.h"
#include "device/call.h"
#include "device/front.h"
#include "device/memory_pool.h"
#include "device/oom.h"
#include "device/sanitizer.h"
#include "device/streams.h"

namespace flambeau {

using hal::Table;

std::atomic<size_t> g_history_entries{0};

CachingAllocator::CachingAllocator(Device device, MemoryKind kind)
    : device_(device),
      kind_(kind),
      alignment_(device.is_cpu() || kind == MemoryKind::pinned ? 64 : 512) {
  history_.start(g_history_entries);
  if (alignment_ > 64) configure(allocator_settings());
}

void CachingAllocator::configure(const AllocatorSettings& settings) {
  if (device_.is_cpu() || kind_ == MemoryKind::pinned) return;
  std::lock_guard lock(mutex_);
  settings_ = settings;
  stats_.max_split_size =
      settings.max_split_size == SIZE_MAX ? -1 : int64_t(settings.max_split_size);
}

size_t CachingAllocator::round(size_t bytes) const {
  const size_t step = std::max(alignment_, settings_.rounding_step(bytes, alignment_));
  return bytes <= step ? step : (bytes + step - 1) & ~(step - 1);
}

Block* CachingAllocator::allocate(size_t bytes, uint32_t stream, int8_t front_class) {
  constexpr size_t kLargest = size_t(1) << 46;
  const bool injected = fault::g_armed.load(std::memory_order_relaxed) && fault::allocation_fails();
  std::unique_lock lock(mutex_);
  const size_t size = bytes < kLargest ? round(bytes) : bytes;
  const PoolKind pool = size <= kSmallRequest ? kSmallPool : kLargePool;
  reserve_nodes();
  process_pending(false);
  Block* b = injected || size >= kLargest ? nullptr : find_or_grow(pool, stream, size);
  if (b == nullptr) {
    ++stats_.num_ooms;
    const OutOfMemory facts = report(bytes, size, stream);
    abandon_forward();
    remember(TraceAction::oom, nullptr, size, stream, t_label);
    lock.unlock();
    throw_out_of_memory(facts);
  }
  cut(b, size);
  b->front_class = front_class;
  b->hand_out(bytes);
  if (front_class < 0) {
    stats_.allocation.add(pool, 1);
    stats_.allocated_bytes.add(pool, int64_t(b->size));
    stats_.active.add(pool, 1);
    stats_.active_bytes.add(pool, int64_t(b->size));
    stats_.requested_bytes.add(pool, int64_t(bytes));
    if (b->is_oversize()) stats_.oversize_allocations.add(1);
  }
  remember(TraceAction::alloc, b->data, b->size, stream, t_label);
  sanitizer::hand_out(b->data, device_.is_cpu() ? bytes : 0);
  return b;
}

void CachingAllocator::deallocate(Block* b) noexcept {
  std::lock_guard lock(mutex_);
  free_block(b);
}

void CachingAllocator::free_block(Block* b) noexcept {
  const PoolKind pool = b->segment->pool;
  if (b->front_class < 0) {
    stats_.allocation.take(pool, 1);
    stats_.allocated_bytes.take(pool, int64_t(b->size));
    stats_.requested_bytes.take(pool, int64_t(b->requested));
    if (b->is_oversize()) stats_.oversize_allocations.take(1);
  }
  remember(TraceAction::free_requested, b->data, b->size, b->segment->stream, b->label());
  if (device_.is_cpu()) sanitizer::take_back(b->data, b->size);
  if (b->uses == nullptr) return release_block(b);
  b->set_state(BlockState::pending);
  if (!capturing()) record_uses(b);
  b->free_next = nullptr;
  *pending_end_ = b;
  pending_end_ = &b->free_next;
}

// The block is no longer used by anything.
void CachingAllocator::release_block(Block* b) noexcept {
  Segment* segment = b->segment;
  if (b->front_class < 0) {
    stats_.active.take(segment->pool, 1);
    stats_.active_bytes.take(segment->pool, int64_t(b->size));
  }
  if (kind_ == MemoryKind::device && !device_.is_cpu()) {
    fault::Exempt exempt;
    hal::try_call<&Table::note_block>(device_, native_stream({device_, segment->stream}),
                                      hal::BlockNote::released, b->data, b->size);
  }
  remember(TraceAction::free_completed, b->data, b->size, segment->stream, b->label());
  b->front_class = -1;
  b->requested.store(0, std::memory_order_relaxed);
  settle(b);
}

// Frees what is in no list, joined with its free neighbours.
Block* CachingAllocator::settle(Block* b) noexcept {
  if (b->after && b->after->get_state() == BlockState::free) {
    take_free(b->after);
    join_next(b);
  }
  if (b->before && b->before->get_state() == BlockState::free) {
    b = b->before;
    take_free(b);
    join_next(b);
  }
  put_free(b);
  return b;
}

void CachingAllocator::join_next(Block* b) noexcept {
  Block* gone = b->after;
  b->size += gone->size;
  b->after = gone->after;
  if (b->after) b->after->before = b;
  drop_node(gone);
}

// A split block keeps its segment from going back, but not the pages of an expandable one.
void CachingAllocator::put_free(Block* b) noexcept {
  b->set_state(BlockState::free);
  b->freed = ++freed_;
  const Segment* s = b->segment;
  s->home->of[s->pool].put(b);
  if (!b->is_split() || s->expandable) return;
  stats_.inactive_split.add(s->pool, 1);
  stats_.inactive_split_bytes.add(s->pool, int64_t(b->size));
}

void CachingAllocator::take_free(Block* b) noexcept {
  const Segment* s = b->segment;
  s->home->of[s->pool].remove(b);
  if (!b->is_split() || s->expandable) return;
  stats_.inactive_split.take(s->pool, 1);
  stats_.inactive_split_bytes.take(s->pool, int64_t(b->size));
}

// Blocks that are not to be cut serve requests of about their size only.
Block* CachingAllocator::take(Home& home, PoolKind pool, size_t size) {
  constexpr size_t kUncutRest = size_t(20) << 20;
  Block* b = home.of[pool].find(size);
  if (!b) return nullptr;
  const size_t uncut = b->segment->expandable ? SIZE_MAX : settings_.max_split_size;
  if (b->size >= uncut && (size < uncut || b->size >= size + kUncutRest)) return nullptr;
  take_free(b);
  return b;
}

// Large blocks keep a remainder up to 1 MiB: cutting it off would leave a piece that little fits
// into, unless what comes to lie behind it makes it grow.
void CachingAllocator::cut(Block* b, size_t size) noexcept {
  const bool finely = b->segment->pool == kSmallPool || b->segment->expandable;
  if (b->size - size < (finely ? alignment_ : kSmallRequest + 1)) return;
  if (finely || size < settings_.max_split_size) put_free(split(b, size));
}

// Takes what is behind the first `size` bytes off; that block is in no list yet.
Block* CachingAllocator::split(Block* b, size_t size) noexcept {
  Block* r = new_node();
  r->data = static_cast<char*>(b->data) + size;
  r->size = b->size - size;
  r->segment = b->segment;
  r->before = b;
  r->after = b->after;
  if (r->after) r->after->before = r;
  b->after = r;
  b->size = size;
  return r;
}

// Where this thread allocates for the stream. A pool that others let go of while it was in use here
// is nobody's any more.
Home& CachingAllocator::home(uint32_t stream) {
  const bool may_be_private = kind_ == MemoryKind::device && !device_.is_cpu();
  const uint32_t id = may_be_private ? pool_in_use(device_) : 0;
  const auto found = id == 0 ? private_.end() : private_.find(id);
  const bool is_private = found != private_.end() && found->second.kept;
  Homes& homes = is_private ? found->second.homes : shared_;
  if (stream >= homes.size()) homes.resize(stream + 1);
  if (!homes[stream]) {
    homes[stream] = std::make_unique<Home>();
    homes[stream]->kept = is_private;
  }
  return *homes[stream];
}

// An allocation needs at most four nodes: a range's block and the rest of what it maps, where that
// is too little a segment's block, and the rest of a cut. Made first, so that nothing after it can
// fail half way.
void CachingAllocator::reserve_nodes() {
  int there = 0;
  for (const Block* b = spare_; b && there < 4; b = b->free_next) ++there;
  for (; there < 4; ++there) {
    Block* b = new Block;
    b->free_next = spare_;
    spare_ = b;
  }
}

Block* CachingAllocator::new_node() noexcept {
  Block* b = spare_;
  spare_ = b->free_next;
  b->free_next = nullptr;
  return b;
}

void CachingAllocator::drop_node(Block* b) noexcept {
  b->before = b->after = nullptr;
  b->free_before = nullptr;
  b->segment = nullptr;
  b->free_next = spare_;
  spare_ = b;
}

void CachingAllocator::remember(TraceAction action, const void* data, size_t size, uint32_t stream,
                                Label label) {
  if (!history_.on()) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  history_.add({action, data, size, stream,
                std::chrono::duration_cast<std::chrono::microseconds>(now).count(), label});
}

Block* CachingAllocator::find(const void* address) {
  std::lock_guard lock(mutex_);
  return block_at(address);
}

Block* CachingAllocator::try_find(const void* address) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock ? block_at(address) : nullptr;
}

Block* CachingAllocator::block_at(const void* address) noexcept {
  const char* p = static_cast<const char*>(address);
  for (Segment* s = segments_; s; s = s->next) {
    const char* begin = static_cast<const char*>(s->data);
    if (p < begin || p >= begin + s->size) continue;
    for (Block* b = s->first; b; b = b->after)
      if (p < static_cast<const char*>(b->data) + b->size)
        return b->get_state() == BlockState::in_use ? b : nullptr;
  }
  return nullptr;
}

MemoryStats CachingAllocator::stats() {
  std::lock_guard lock(mutex_);
  free_kept();
  return stats_;
}

void CachingAllocator::merge(const FrontCounts& c) {
  std::lock_guard lock(mutex_);
  const auto one = [](Stat& s, const FrontCount& n) {
    s.peak = std::max(s.peak, s.current + n.peak);
    s.current += n.added - n.taken;
    s.allocated += n.added;
    s.freed += n.taken;
  };
  const auto both = [&](PoolStat& s, const FrontCount& n) {
    one(s.of[kAllPools], n);
    one(s.of[kSmallPool], n);
  };
  both(stats_.allocation, c.blocks);
  both(stats_.active, c.blocks);
  both(stats_.allocated_bytes, c.bytes);
  both(stats_.active_bytes, c.bytes);
  both(stats_.requested_bytes, c.requested);
}

}  // namespace flambeau
