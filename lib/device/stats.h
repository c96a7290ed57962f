// What the caching allocator counts, under PyTorch's names and with PyTorch's meaning: `allocated`
// blocks are in use by tensors, `active` ones also wait for another stream, `inactive_split` are
// free pieces of a segment that is partly in use, `reserved` is what the device has given.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/device.h"

namespace flambeau {

struct Stat {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;

  void add(int64_t n) {
    current += n;
    allocated += n;
    if (current > peak) peak = current;
  }
  void take(int64_t n) {
    current -= n;
    freed += n;
  }
  void reset_peak() { peak = current; }
  void reset_accumulated() { allocated = freed = 0; }
};

enum PoolKind : int8_t { kAllPools, kSmallPool, kLargePool, kPoolKinds };

struct PoolStat {
  Stat of[kPoolKinds];
  void add(PoolKind pool, int64_t n) { of[kAllPools].add(n), of[pool].add(n); }
  void take(PoolKind pool, int64_t n) { of[kAllPools].take(n), of[pool].take(n); }
};

struct MemoryStats {
  PoolStat allocation, segment, active, inactive_split;
  PoolStat allocated_bytes, reserved_bytes, active_bytes, inactive_split_bytes, requested_bytes;
  Stat oversize_allocations, oversize_segments;
  int64_t num_alloc_retries = 0, num_ooms = 0, num_sync_all_streams = 0;
  int64_t num_device_alloc = 0, num_device_free = 0, max_split_size = -1;
};

// Calls f(Stat&) for each counter.
template <class F>
void for_each_stat(MemoryStats& m, F&& f) {
  for (PoolStat* p :
       {&m.allocation, &m.segment, &m.active, &m.inactive_split, &m.allocated_bytes,
        &m.reserved_bytes, &m.active_bytes, &m.inactive_split_bytes, &m.requested_bytes})
    for (Stat& s : p->of) f(s);
  f(m.oversize_allocations);
  f(m.oversize_segments);
}

MemoryStats memory_stats(Device d);
// The same as torch.cuda.memory_stats(): "allocated_bytes.all.current" and so on, sorted by key.
using FlatStats = std::vector<std::pair<std::string, int64_t>>;
FlatStats flatten(const MemoryStats& stats);
FlatStats memory_stats_flat(Device d);
void reset_peak_memory_stats(Device d);
void reset_accumulated_memory_stats(Device d);

void empty_cache(Device d);  // gives unused segments back
void set_per_process_memory_fraction(double fraction, Device d);
double per_process_memory_fraction(Device d);
std::string memory_summary(Device d, bool abbreviated);  // torch's table

// PyTorch's snapshot dictionary as JSON: segments, device_traces, allocator_settings.
std::string memory_snapshot_json();
// Keeps the last `max_entries` allocator events per device for the snapshot; 0 stops and forgets.
void record_memory_history(size_t max_entries);

MemoryStats pinned_memory_stats();
void empty_pinned_cache();

}  // namespace flambeau
