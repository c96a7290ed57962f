// The host's steady clock, by which profiles and progress tell time.
#pragma once
#include <chrono>
#include <cstdint>

namespace flambeau {

inline int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace flambeau
