// What launches move in global memory, counted in sectors of 32 bytes while `counting_traffic` is
// set. A warp's access asks for the sectors that its lanes touch, each once: where they are more
// than the bytes need, lanes lie apart. What is asked for again during a launch a cache gives, so
// memory itself moves each sector once. A thread's n-th access is taken for part of its warp's
// n-th.
#pragma once
#include <cstdint>

namespace cuda_on_cpu {

struct Traffic {
  static constexpr uint64_t kSector = 32;
  uint64_t launches = 0, accesses = 0;  // accesses: of threads
  uint64_t asked = 0;                   // bytes of sectors, by warps
  uint64_t read = 0, written = 0;       // bytes of sectors, by launches
  uint64_t moved() const { return read + written; }
};

extern bool counting_traffic;
extern Traffic traffic;

void count_global(const void* p, int bytes, bool writes);
void forget_sectors();  // a launch begins

// To be called by a thread before an access to global memory.
inline void touch_global(const void* p, int bytes, bool writes) {
  if (counting_traffic) count_global(p, bytes, writes);
}

}  // namespace cuda_on_cpu
