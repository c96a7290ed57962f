// Which of a launch's blocks is the last to have read what the launch changes: it changes that, and
// the others need not wait for one another. By the tickets of last_block.h.
#pragma once
#include "kernels/last_block.h"

namespace flambeau::FLAM_TARGET {

// One thread of each of `blocks` blocks comes here: true in the one that came last. What these
// threads have read before, none of them will read again.
__device__ inline bool is_last_reader(int32_t stream, int ticket, unsigned blocks) {
  if (blocks == 1) return true;
  __threadfence();
  return atomicInc(&block_tickets[stream][ticket], blocks - 1) == blocks - 1;
}

}  // namespace flambeau::FLAM_TARGET
