// Thread-local fronts of the cpu allocator: per size class a list of blocks that this thread freed,
// so that allocating and freeing a small tensor takes no lock. Blocks in a front stay cut out of
// their segments; what they amount to is counted here and merged into the allocator's statistics
// now and then.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/runtime.h"
#include "device/stats.h"

namespace flambeau {

inline constexpr size_t kFrontLargest = size_t(64)
                                        << 10;  // larger blocks always go to the allocator

// Changes since the last merge; the peak is relative to the value at that time.
struct FrontCount {
  int64_t added = 0, taken = 0, peak = 0;
};
struct FrontCounts {
  FrontCount blocks, bytes, requested;
};

Memory front_allocate(size_t bytes);  // 0 < bytes <= kFrontLargest
void front_deallocate(Block* b) noexcept;
void front_flush() noexcept;  // this thread's blocks and counts go to the allocator
// Adds the counts that other threads have not merged yet.
void add_unmerged_fronts(MemoryStats& stats);
// While on, allocations and frees go to the allocator, where events are traced.
extern std::atomic<bool> g_fronts_off;

}  // namespace flambeau
