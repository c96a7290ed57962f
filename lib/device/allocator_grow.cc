// Where the caching allocator meets the device: new segments, giving unused ones back, the order of
// retries before out of memory, and the limit set as a fraction of the device.
#include <algorithm>
#include <map>
#include <new>

#include "base/error.h"
#include "device/allocator.h"
#include "device/call.h"
#include "device/oom.h"
#include "device/sanitizer.h"
#include "device/streams.h"

namespace flambeau {

using hal::Table;

namespace {

constexpr size_t kMiB = size_t(1) << 20;

size_t segment_size(size_t request) {
  if (request <= kSmallRequest) return 2 * kMiB;
  if (request < 10 * kMiB) return 20 * kMiB;
  return (request + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
}

}  // namespace

// A block that only waits for another stream comes before giving the cache back, and that before
// failing.
Block* CachingAllocator::find_or_grow(PoolKind pool, uint32_t stream, size_t size) {
  if (Block* b = take(home(stream), pool, size)) return b;
  if (free_kept())
    if (Block* b = take(home(stream), pool, size)) return b;
  if (Block* b = grow(pool, stream, size)) return b;
  ++stats_.num_alloc_retries;
  if (capturing()) return nullptr;
  if (pending_) {
    ++stats_.num_sync_all_streams;
    process_pending(true);
    if (Block* b = take(home(stream), pool, size)) return b;
  }
  release_segments();
  reserve_nodes();
  if (Block* b = grow(pool, stream, size)) return b;
  if (!settings_.expandable_segments) return nullptr;
  release_segments();  // where no more of a range's units fit a segment may
  reserve_nodes();
  return grow_segment(pool, stream, size);
}

bool CachingAllocator::within_limit(size_t size) {
  return stats_.reserved_bytes.of[kAllPools].current + int64_t(size) <=
         int64_t(std::min(limit_, SIZE_MAX / 2));
}

// Null where the device has no more; other failures are thrown.
Block* CachingAllocator::grow(PoolKind pool, uint32_t stream, size_t request) {
  if (!capturing()) collect_garbage(segment_size(request));
  Block* b = settings_.expandable_segments ? extend(pool, stream, request) : nullptr;
  return b ? b : grow_segment(pool, stream, request);
}

Block* CachingAllocator::grow_segment(PoolKind pool, uint32_t stream, size_t request) {
  const size_t size = segment_size(request);
  if (!within_limit(size)) return nullptr;
  auto made = new_segment(size, pool, stream);
  made->oversize = size >= settings_.max_split_size;
  const hal::Status status = kind_ == MemoryKind::device
                                 ? hal::try_call<&Table::allocate>(device_, size, &made->data)
                                 : hal::try_call<&Table::allocate_host>(device_, size, &made->data);
  if (status == hal::Status::out_of_memory) return nullptr;
  if (status != hal::Status::ok) hal::raise(device_, "memory allocation", status);
  Segment* s = add_segment(std::move(made));
  ++stats_.num_device_alloc;
  stats_.segment.add(pool, 1);
  if (s->oversize) stats_.oversize_segments.add(1);
  stats_.reserved_bytes.add(pool, int64_t(size));
  remember(TraceAction::segment_alloc, s->data, size, stream, t_label);
  if (device_.is_cpu()) sanitizer::take_back(s->data, size);
  return s->first;
}

std::unique_ptr<Segment> CachingAllocator::new_segment(size_t size, PoolKind pool,
                                                       uint32_t stream) {
  auto s = std::make_unique<Segment>();
  s->owner = this;
  s->size = size;
  s->stream = stream;
  s->pool = pool;
  s->home = &home(stream);
  s->label = t_label;
  return s;
}

// Enters a segment, which its one block covers.
Segment* CachingAllocator::add_segment(std::unique_ptr<Segment> made) noexcept {
  Segment* s = made.release();
  ++s->home->segments;
  s->next = segments_;
  if (segments_) segments_->before = s;
  segments_ = s;
  Block* b = s->first = new_node();
  b->data = s->data;
  b->size = s->size;
  b->segment = s;
  return s;
}

// Segments of which nothing is used go back, those first that were left alone longest, until with
// `size` bytes more the process has no more than the threshold allows.
void CachingAllocator::collect_garbage(size_t size) {
  if (settings_.garbage_collection_threshold == 0) return;
  const double most = settings_.garbage_collection_threshold * double(std::min(limit_, total()));
  while (double(stats_.reserved_bytes.of[kAllPools].current) + double(size) > most) {
    Segment* oldest = nullptr;
    for (Segment* s = segments_; s; s = s->next)
      if (s->is_idle() && (!oldest || s->first->freed < oldest->first->freed)) oldest = s;
    if (!oldest) return;
    release_segment(oldest);
  }
}

void CachingAllocator::release_segments() {
  for (Segment *s = segments_, *next; s; s = next) {
    next = s->next;
    if (s->is_idle())
      release_segment(s);
    else if (s->expandable && !s->home->kept)
      release_pages(s);
  }
  std::erase_if(private_, [](const auto& pool) {
    return !pool.second.kept && std::ranges::all_of(pool.second.homes, [](const auto& home) {
      return !home || home->segments == 0;
    });
  });
}

void CachingAllocator::release_segment(Segment* s) noexcept {
  fault::Exempt exempt;
  take_free(s->first);
  if (device_.is_cpu()) sanitizer::hand_out(s->data, s->size);
  if (kind_ == MemoryKind::device)
    hal::try_call<&Table::deallocate>(device_, s->data, s->size);
  else
    hal::try_call<&Table::deallocate_host>(device_, s->data, s->size);
  ++stats_.num_device_free;
  stats_.segment.take(s->pool, 1);
  if (s->oversize) stats_.oversize_segments.take(1);
  stats_.reserved_bytes.take(s->pool, int64_t(s->size));
  remember(TraceAction::segment_free, s->data, s->size, s->stream, s->label);
  drop_segment(s);
}

void CachingAllocator::drop_segment(Segment* s) noexcept {
  drop_node(s->first);
  --s->home->segments;
  (s->before ? s->before->next : segments_) = s->next;
  if (s->next) s->next->before = s->before;
  delete s;
}

void CachingAllocator::empty_cache() {
  std::lock_guard lock(mutex_);
  free_kept();
  check(!capturing(), Code::graph_capture,
        "memory cannot go back to the device while a graph is captured on ", to_string(device_));
  if (pending_) {
    ++stats_.num_sync_all_streams;
    process_pending(true);
  }
  release_segments();
}

size_t CachingAllocator::total() {
  size_t free_bytes = 0;
  if (total_ == 0) hal::call<&Table::memory_info>(device_, "memory info", &free_bytes, &total_);
  return total_;
}

void CachingAllocator::set_fraction(double fraction) {
  check(fraction >= 0 && fraction <= 1, Code::invalid_argument, "memory fraction ", fraction,
        " is not between 0 and 1");
  size_t free_bytes = 0, total = 0;
  hal::call<&Table::memory_info>(device_, "memory info", &free_bytes, &total);
  std::lock_guard lock(mutex_);
  fraction_ = fraction;
  limit_ = fraction == 1 ? SIZE_MAX : size_t(double(total) * fraction);
}

void CachingAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  free_kept();
  for_each_stat(stats_, [](Stat& s) { s.reset_peak(); });
}

void CachingAllocator::reset_accumulated() {
  std::lock_guard lock(mutex_);
  for_each_stat(stats_, [](Stat& s) { s.reset_accumulated(); });
  stats_.num_alloc_retries = stats_.num_ooms = stats_.num_sync_all_streams = 0;
  stats_.num_device_alloc = stats_.num_device_free = 0;
}

OutOfMemory CachingAllocator::report(size_t bytes, size_t size, uint32_t stream) {
  OutOfMemory r;
  r.device = device_;
  r.pinned = kind_ == MemoryKind::pinned;
  r.asked = bytes;
  r.rounded = size;
  r.limit = limit_;
  {
    fault::Exempt exempt;
    hal::try_call<&Table::memory_info>(device_, &r.device_free, &r.capacity);
  }
  r.reserved = stats_.reserved_bytes.of[kAllPools].current;
  r.rows = t_label.rows;
  r.phase = g_step.phase;
  r.batch = r.phase == Step::idle ? 0 : g_step.batch.load();
  const uint32_t step = g_step.number;
  std::map<std::string, Holder> holders;
  for (Segment* s = segments_; s; s = s->next) {
    for (Block* b = s->first; b; b = b->after) {
      const BlockState state = b->get_state();
      if (state == BlockState::pending) r.pending += int64_t(b->size);
      if (state == BlockState::free) {
        r.largest_free_block = std::max(r.largest_free_block, b->size);
        if (s->stream != stream) r.free_in_other_streams += b->size;
      }
      if (state != BlockState::in_use) continue;
      r.allocated += int64_t(b->size);
      if (b->step == step) {
        r.step_bytes += int64_t(b->size);
        r.step_largest = std::max(r.step_largest, b->size);
      }
      Holder& h = holders[describe(b->label())];
      h.bytes += int64_t(b->size);
      ++h.blocks;
    }
  }
  for (auto& [label, h] : holders) r.holders.push_back({label, h.bytes, h.blocks});
  std::sort(r.holders.begin(), r.holders.end(),
            [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  if (r.holders.size() > 5) r.holders.resize(5);
  return r;
}

}  // namespace flambeau
