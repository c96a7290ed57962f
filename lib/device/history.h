// The allocator's trace: a ring of the last events, off by default. The entries are what PyTorch's
// memory viewer reads from a snapshot.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "device/label.h"

namespace flambeau {

enum class TraceAction : int8_t {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  oom
};

struct TraceEntry {
  TraceAction action;
  const void* address;
  size_t size;
  uint32_t stream;
  int64_t time_us;
  Label label;
};

class History {
 public:
  void start(size_t max_entries) {  // 0: stop and forget
    ring_.clear();
    ring_.reserve(max_entries);
    max_ = max_entries;
    next_ = 0;
  }
  bool on() const { return max_ > 0; }
  void add(const TraceEntry& e) {
    if (ring_.size() < max_)
      ring_.push_back(e);
    else
      ring_[next_++ % max_] = e;
  }
  template <class F>
  void each(F&& visit) const {  // oldest first
    const size_t n = ring_.size(), first = n < max_ || n == 0 ? 0 : next_ % n;
    for (size_t i = 0; i < n; ++i) visit(ring_[(first + i) % n]);
  }

 private:
  std::vector<TraceEntry> ring_;
  size_t max_ = 0, next_ = 0;
};

}  // namespace flambeau
