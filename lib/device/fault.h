// Fault injection for tests: the n-th allocation or the n-th HAL call fails, once or from then on.
// Counting is off by default and costs one predictable branch. Counters are process-wide; tests use
// them one at a time.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/thread_local.h"

namespace flambeau::fault {

enum class Mode : int8_t { once, forever };

// The n-th call from now (1 is the next) fails as out of memory, or as an internal error of the
// device.
void fail_allocation(int64_t n, Mode mode);
void fail_hal_call(int64_t n, Mode mode);
void count_only();  // nothing fails, the counters run: how many points a test has
void clear();
int64_t allocations();  // counted since the last of the calls above
int64_t hal_calls();
bool was_hit();  // whether a fault was injected since then

// For the allocator and the HAL wrapper.
inline std::atomic<bool> g_armed{false};
bool allocation_fails();  // counts; only while armed
bool hal_call_fails();

// Undoing and releasing are not fault points: a `noexcept` path has no one to tell.
inline FLAM_THREAD_LOCAL int t_exempt = 0;
struct Exempt {
  Exempt() { ++t_exempt; }
  ~Exempt() { --t_exempt; }
};

}  // namespace flambeau::fault
