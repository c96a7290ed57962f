// Reading the trace; see memory_timeline.h. A block that was there before the recording shows when
// it is freed, or is in use still.
#include "observe/memory_timeline.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "device/allocator.h"
#include "device/front.h"

namespace flambeau::observe {
namespace {

struct Live {
  int64_t bytes;
  Label label;
};

// What an event changes: bytes of tensors, bytes of segments.
std::pair<int64_t, int64_t> changes(const TraceEntry& e) {
  const auto bytes = int64_t(e.size);
  switch (e.action) {
    case TraceAction::alloc:
      return {bytes, 0};
    case TraceAction::free_requested:
      return {-bytes, 0};
    case TraceAction::segment_alloc:
    case TraceAction::segment_map:
      return {0, bytes};
    case TraceAction::segment_free:
    case TraceAction::segment_unmap:
      return {0, -bytes};
    default:
      return {0, 0};
  }
}

std::vector<TimelinePoint> points_of(const std::vector<TraceEntry>& entries, int64_t allocated,
                                     int64_t reserved) {
  for (const TraceEntry& e : entries) {  // back to the moment before the first event
    allocated -= changes(e).first;
    reserved -= changes(e).second;
  }
  std::vector<TimelinePoint> points;
  for (const TraceEntry& e : entries) {
    if (e.action == TraceAction::free_completed) continue;
    const auto [tensors, segments] = changes(e);
    allocated += tensors;
    reserved += segments;
    points.push_back({e.time_us, allocated, reserved, tensors + segments, e.action, e.label});
  }
  return points;
}

std::string text_of(const char* text) { return text ? text : ""; }

std::vector<Holder> grouped(const std::vector<Live>& blocks) {
  std::map<std::tuple<std::string, std::string, std::string>, Holder> groups;
  for (const Live& b : blocks) {
    const auto key =
        std::tuple(text_of(b.label.module), text_of(b.label.op), text_of(b.label.shape));
    Holder& h = groups[key];
    std::tie(h.module, h.op, h.shape) = key;
    h.bytes += b.bytes;
    ++h.count;
  }
  std::vector<Holder> all;
  for (auto& [key, h] : groups) all.push_back(std::move(h));
  std::ranges::stable_sort(all, std::greater(), &Holder::bytes);
  return all;
}

// The moment is after the `moments`-th event that counts. Walks the whole trace: what is freed
// after the moment, or is in use still, and was not allocated after it, was live then.
std::vector<Live> live_at(const std::vector<TraceEntry>& entries, size_t moment,
                          std::unordered_map<const void*, Live> in_use_now) {
  std::unordered_map<const void*, Live> live;
  std::unordered_map<const void*, bool> touched;  // by an event after the moment
  std::vector<Live> found;
  size_t at = 0;
  for (const TraceEntry& e : entries) {
    if (e.action == TraceAction::free_completed) continue;
    const bool after = at++ > moment;
    if (e.action != TraceAction::alloc && e.action != TraceAction::free_requested) continue;
    in_use_now.erase(e.address);  // its first event says what it was before
    const bool first = touched.try_emplace(e.address, true).second;
    if (e.action == TraceAction::alloc && !after) live[e.address] = {int64_t(e.size), e.label};
    if (e.action == TraceAction::free_requested && !after) live.erase(e.address);
    if (e.action == TraceAction::free_requested && after && first)
      found.push_back({int64_t(e.size), e.label});
  }
  for (const auto& [address, block] : live) found.push_back(block);
  for (const auto& [address, block] : in_use_now) found.push_back(block);
  return found;
}

}  // namespace

Timeline timeline_of(CachingAllocator& allocator) {
  Timeline t;
  t.device = allocator.device();
  std::vector<TraceEntry> entries;
  std::unordered_map<const void*, Live> in_use;
  allocator.each_trace([&](const TraceEntry& e) { entries.push_back(e); });
  allocator.each_segment([&](const Segment& s) {
    for (const Block* b = s.first; b; b = b->after)
      if (b->get_state() == BlockState::in_use) in_use[b->data] = {int64_t(b->size), b->label()};
  });
  const MemoryStats stats = memory_stats(t.device);
  t.points = points_of(entries, stats.allocated_bytes.of[kAllPools].current,
                       stats.reserved_bytes.of[kAllPools].current);
  if (t.points.empty()) return t;
  const auto peak = std::ranges::max_element(t.points, {}, &TimelinePoint::allocated);
  t.peak = size_t(peak - t.points.begin());
  t.holders = grouped(live_at(entries, t.peak, std::move(in_use)));
  return t;
}

}  // namespace flambeau::observe
