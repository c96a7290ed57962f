// C++ side of include/flambeau/memory.h: the targets of its C functions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/memory_pool.h"

namespace flambeau::capi {

int64_t memory_allocated(Device device);
int64_t memory_max_allocated(Device device);
int64_t memory_reserved(Device device);
int64_t memory_max_reserved(Device device);
int64_t memory_stat(Device device, std::string_view key);
const char* memory_stats(Device device);
const char* memory_pinned_stats();
void memory_reset_peak_stats(Device device);
void memory_reset_accumulated_stats(Device device);
void memory_empty_cache(Device device);
void memory_empty_pinned_cache();
void memory_set_fraction(double fraction, Device device);
double memory_fraction(Device device);
const char* memory_summary(Device device, bool abbreviated);
const char* memory_snapshot();
void memory_record_history(size_t max_entries);
void memory_timeline(std::string_view path);
void memory_fail_allocation(int64_t nth, bool forever);

Ref<flam_memory_pool> memory_pool_new(Device device);
void memory_pool_release(flam_memory_pool* pool);
uint64_t memory_pool_push(flam_memory_pool* pool);

}  // namespace flambeau::capi
