// Expandable segments: ranges of addresses, each larger than the device's memory, of which parts
// have memory. A request that fits nowhere lets what is free at the end of a range grow, so that
// sizes that change from step to step leave no holes which only another size would fit into.
// Invariant: what has no memory is a block of its own, in no list, that begins and ends at a unit.
#include <algorithm>

#include "device/allocator.h"
#include "device/call.h"

namespace flambeau {

using hal::Status, hal::Table;

namespace {

// What gets memory, and loses it, at once.
constexpr size_t kSmallUnit = size_t(2) << 20, kLargeUnit = size_t(20) << 20;
size_t unit_of(const Segment& s) { return s.pool == kSmallPool ? kSmallUnit : kLargeUnit; }
size_t rounded_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
bool is_unmapped(const Block* b) { return b && b->get_state() == BlockState::unmapped; }
bool is_free(const Block* b) { return b && b->get_state() == BlockState::free; }

}  // namespace

// A block out of the lists of at least that size; null where the device has no more.
Block* CachingAllocator::extend(PoolKind pool, uint32_t stream, size_t size) {
  Block* b = room_in_ranges(home(stream), pool, size);
  if (!b) b = reserve_range(pool, stream, size);
  while (b && (is_unmapped(b) || b->size < size)) {
    Block* hole = is_unmapped(b) ? b : b->after;  // what is free ends where something is not
    b = map_front(hole, size - (hole == b ? 0 : b->size));
  }
  if (b) take_free(b);
  return b;
}

// Where in the ranges that have begun so much is free or without memory, in a row; or null.
Block* CachingAllocator::room_in_ranges(const Home& place, PoolKind pool, size_t size) noexcept {
  for (Segment* s = segments_; s; s = s->next) {
    if (!s->expandable || s->home != &place || s->pool != pool) continue;
    Block* start = nullptr;
    size_t room = 0;
    for (Block* b = s->first; b; b = b->after) {
      const bool open = is_free(b) || is_unmapped(b);
      if (!open || room == 0) start = b;
      room = open ? room + b->size : 0;
      if (room >= size) return start;
    }
  }
  return nullptr;
}

// Null where there are no addresses.
Block* CachingAllocator::reserve_range(PoolKind pool, uint32_t stream, size_t size) {
  const size_t most = std::max(size, total() + total() / 8);
  auto made = new_segment(rounded_up(most, kLargeUnit), pool, stream);
  made->expandable = true;
  const Status status = hal::try_call<&Table::reserve>(device_, made->size, &made->data);
  if (status == Status::out_of_memory) return nullptr;
  if (status != Status::ok) hal::raise(device_, "expandable segments", status);
  Block* b = add_segment(std::move(made))->first;
  b->set_state(BlockState::unmapped);
  return b;
}

// The front of a block without memory gets some, for at least so many bytes, and joins what is free
// beside it; returns that. Null where the device has no more; what it gave before that stays.
Block* CachingAllocator::map_front(Block* b, size_t bytes) {
  const Segment& s = *b->segment;
  const size_t unit = unit_of(s), wanted = std::min(b->size, rounded_up(bytes, unit));
  if (!within_limit(wanted)) return nullptr;
  Status status = Status::ok;
  size_t given = 0;
  for (; given < wanted; given += unit) {
    char* const data = static_cast<char*>(b->data) + given;
    if (status = hal::try_call<&Table::map>(device_, data, unit); status != Status::ok) break;
  }
  if (given > 0) {
    if (given < b->size) split(b, given)->set_state(BlockState::unmapped);
    ++stats_.num_device_alloc;
    stats_.reserved_bytes.add(s.pool, int64_t(given));
    remember(TraceAction::segment_map, b->data, given, s.stream, t_label);
    b = settle(b);
  }
  if (status == Status::ok) return b;
  if (status != Status::out_of_memory) hal::raise(device_, "memory allocation", status);
  return nullptr;
}

// The whole units in a free block lose their memory, unless the device does not take it; returns
// what they are now, else the block.
Block* CachingAllocator::unmap_pages(Block* b) {
  const Segment& s = *b->segment;
  const size_t unit = unit_of(s);
  const size_t begin = size_t(static_cast<char*>(b->data) - static_cast<char*>(s.data));
  const size_t first = rounded_up(begin, unit), last = (begin + b->size) / unit * unit;
  if (first >= last) return b;
  reserve_nodes();
  take_free(b);
  if (first > begin) {
    Block* const units = split(b, first - begin);
    put_free(b);
    b = units;
  }
  if (last - first < b->size) put_free(split(b, last - first));
  fault::Exempt exempt;
  if (hal::try_call<&Table::unmap>(device_, b->data, b->size) != Status::ok) return settle(b);
  b->set_state(BlockState::unmapped);
  ++stats_.num_device_free;
  stats_.reserved_bytes.take(s.pool, int64_t(b->size));
  remember(TraceAction::segment_unmap, b->data, b->size, s.stream, s.label);
  if (is_unmapped(b->after)) join_next(b);
  if (!is_unmapped(b->before)) return b;
  b = b->before;
  join_next(b);
  return b;
}

void CachingAllocator::release_pages(Segment* s) {
  for (Block* b = s->first; b; b = b->after)
    if (is_free(b)) b = unmap_pages(b);
  if (!is_unmapped(s->first) || s->first->is_split()) return;
  fault::Exempt exempt;
  hal::try_call<&Table::release>(device_, s->data, s->size);
  drop_segment(s);
}

}  // namespace flambeau
