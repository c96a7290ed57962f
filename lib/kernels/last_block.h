// Which of a launch's blocks is the last to come by: it finishes what all of them have left in
// memory, without a launch of its own. A ticket is 0 between launches, as the last draw makes it
// again. What the last block does may depend on what it finds, never on which block it is.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/tickets.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

static __device__ unsigned block_tickets[kTicketStreams][kTickets];

// All threads of the block come here. Among `blocks` that do: true in the one that came last, which
// sees what every thread of the others has written before.
__device__ inline bool is_last_block(int32_t stream, int ticket, unsigned blocks) {
  __shared__ unsigned drawn;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) drawn = atomicInc(&block_tickets[stream][ticket], blocks - 1);
  __syncthreads();
  __threadfence();
  return drawn == blocks - 1;
}

}  // namespace flambeau::FLAM_TARGET
