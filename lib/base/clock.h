// The host's steady clock, by which profiles and progress tell time, and how it stands to the clock
// that the processes of a job have in common.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace flambeau {

inline int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// Nanoseconds from the steady clock to the time of day as rank 0 of the job has it; 0: not known.
inline std::atomic<int64_t> job_epoch_ns{0};

}  // namespace flambeau
