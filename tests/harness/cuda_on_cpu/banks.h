// Conflicts of shared memory's 32 banks of 4 bytes, counted while `counting_banks` is set. An
// access of 16 bytes a lane goes by 8 lanes at a time, one of 8 bytes by 16; in each of these
// phases a bank gives one word, and every further word that it is asked for is a conflict. Only
// what all lanes of a warp do together can be counted.
#pragma once
#include <cstdint>

#include "grid.h"
#include "together.h"

namespace cuda_on_cpu {

struct BankCounts {
  uint64_t phases = 0, conflicts = 0;
};

extern bool counting_banks;
extern BankCounts bank_counts;

// One phase: `lanes` accesses of `bytes` each.
void count_phase(const void* const* addresses, int lanes, int bytes);
// One access of all lanes of a warp, of 4, 8 or 16 bytes each.
void count_access(const void* const (&addresses)[32], int bytes);

// To be called by every lane of a warp before an access to shared memory.
inline void touch_shared(const void* p, int bytes) {
  if (!counting_banks) return;
  together("an access to shared memory", p, [&](const void** const(&lanes)[32]) {
    const void* addresses[32];
    for (int i = 0; i < 32; ++i) addresses[i] = *lanes[i];
    count_access(addresses, bytes);
  });
}

}  // namespace cuda_on_cpu
