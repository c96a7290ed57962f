// Targets of memory.h; see there.

#include <algorithm>

#include "base/checked.h"
#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "capi/scope_stack.h"
#include "capi/stream.h"
#include "device/allocator_settings.h"
#include "device/fault.h"
#include "device/memory_pool.h"
#include "device/stats.h"
#include "io/file.h"
#include "observe/memory_timeline.h"

namespace flambeau::capi {
namespace {

int64_t count(Device d, PoolStat MemoryStats::* stat, int64_t Stat::* field) {
  return or_else(int64_t(0),
                 [&] { return (flambeau::memory_stats(d).*stat).of[kAllPools].*field; });
}

std::string as_json(const FlatStats& stats) {
  std::string out = "{";
  for (const auto& [key, value] : stats)
    out += cat_text(out.size() > 1 ? "," : "", '"', key, "\":", value);
  return out + "}";
}

}  // namespace

int64_t memory_allocated(Device d) {
  return count(d, &MemoryStats::allocated_bytes, &Stat::current);
}
int64_t memory_max_allocated(Device d) {
  return count(d, &MemoryStats::allocated_bytes, &Stat::peak);
}
int64_t memory_reserved(Device d) { return count(d, &MemoryStats::reserved_bytes, &Stat::current); }
int64_t memory_max_reserved(Device d) {
  return count(d, &MemoryStats::reserved_bytes, &Stat::peak);
}

int64_t memory_stat(Device device, std::string_view key) {
  for (const auto& [name, value] : memory_stats_flat(device))
    if (name == key) return value;
  throw Error(Code::invalid_argument, cat_text("there is no memory statistic \"", key, '"'), {},
              "all keys: flam_memory_stats(device)");
}

const char* memory_stats(Device device) {
  return borrowed_text([&] { return as_json(memory_stats_flat(device)); });
}

const char* memory_pinned_stats() {
  return borrowed_text([] { return as_json(flatten(pinned_memory_stats())); });
}

void memory_reset_peak_stats(Device device) { reset_peak_memory_stats(device); }
void memory_reset_accumulated_stats(Device device) { reset_accumulated_memory_stats(device); }
void memory_empty_cache(Device device) { empty_cache(device); }
void memory_empty_pinned_cache() { empty_pinned_cache(); }
void memory_set_fraction(double fraction, Device device) {
  set_per_process_memory_fraction(fraction, device);
}

double memory_fraction(Device device) {
  return or_else(0.0, [&] { return per_process_memory_fraction(device); });
}

void memory_set_allocator_settings(std::string_view settings) {
  set_allocator_settings(parse_settings(settings));
}

const char* memory_summary(Device device, bool abbreviated) {
  return borrowed_text([&] { return flambeau::memory_summary(device, abbreviated); });
}

const char* memory_snapshot() {
  return borrowed_text([] { return memory_snapshot_json(); });
}

void memory_record_history(size_t max_entries) {
  const size_t asked = std::min(max_entries, size_t(INT64_MAX));
  check_count("memory_record_history", "max_entries", int64_t(asked), 1 << 24);
  record_memory_history(max_entries);
}

void memory_timeline(std::string_view path) {
  const std::string page = observe::timeline_html();
  io::AtomicFile file(path);
  file.write(page);
  file.commit();
}

void memory_fail_allocation(int64_t nth, bool forever) {
  check(nth >= 0, Code::invalid_argument, "memory_fail_allocation: nth is ", nth,
        "; allocations count from 1, and 0 lets all succeed");
  if (nth == 0) return fault::clear();
  fault::fail_allocation(nth, forever ? fault::Mode::forever : fault::Mode::once);
}

Ref<flam_memory_pool> memory_pool_new(Device device) {
  return make_ref<flam_memory_pool>(accelerator_or(device));
}

void memory_pool_release(flam_memory_pool* pool) {
  if (pool) pool->release();
}

Device memory_pool_device(const flam_memory_pool* pool) { return pool->device; }

uint64_t memory_pool_push(flam_memory_pool* pool) {
  const uint32_t before = use_pool(pool->device, pool->id);
  return push_scope(
      [before, kept = Ref<flam_memory_pool>::share(pool)] { use_pool(kept->device, before); });
}

}  // namespace flambeau::capi
