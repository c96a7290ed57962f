// A tile of items in shared memory, sorted by a bitonic network. Positions break ties, so that the
// network, which is not stable, gives the order of a stable sort.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/sort/sort.h"
#include "kernels/sort/sort_key.h"

namespace flambeau::FLAM_TARGET {

template <class K> __device__ inline bool precedes(const SortItem<K>& a, const SortItem<K>& b) {
  return a.key < b.key || (a.key == b.key && a.at < b.at);
}

// What fills a tile up: behind everything.
template <class K> __device__ inline SortItem<K> no_item() { return {K(~K(0)), 0xffffffffu}; }

// By all threads of the block; `size` is a power of two.
template <class K> __device__ inline void sort_tile(SortItem<K>* tile, int size) {
  __syncthreads();
  for (int run = 2; run <= size; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      for (int i = int(threadIdx.x); i < size; i += int(blockDim.x)) {
        const int other = i ^ step;
        if (other <= i) continue;
        const SortItem<K> x = tile[i], y = tile[other];
        if (precedes(y, x) == ((i & run) == 0)) {
          tile[i] = y;
          tile[other] = x;
        }
      }
      __syncthreads();
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
