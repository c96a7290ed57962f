// Positions of true elements in CUDA: a warp asks 32 neighbours at once and keeps their bits; a
// block's positions begin where those of the blocks before end, so that they come out in order.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/index/index.h"
#include "kernels/tile/global_access.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kTrueThreads = int(kTrueBlock / 32), kTrueWarps = kTrueThreads / 32;

template <class T> __global__ void true_kernel(TrueArgs a) {
  __shared__ int found[kTrueWarps];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  for (int64_t b = blockIdx.x; b * kTrueBlock < a.numel; b += gridDim.x) {
    // 32 words of 32 neighbours: lane i keeps word i.
    const int64_t first = b * kTrueBlock + warp * 1024;
    unsigned mine = 0;
#pragma unroll 8
    for (int w = 0; w < 32; ++w) {
      const int64_t i = first + w * 32 + lane;
      bool yes = false;
      if (i < a.numel) {
        const T value = load_global(reinterpret_cast<const T*>(a.mask) + i);
        yes = load(&value) != Compute<T>(0);
      }
      const unsigned word = __ballot_sync(0xffffffffu, yes);
      mine = lane == w ? word : mine;
    }
    int upto = __popc(mine);
    for (int step = 1; step < 32; step *= 2) {
      const int left = __shfl_up_sync(0xffffffffu, upto, unsigned(step));
      if (lane >= step) upto += left;
    }
    __syncthreads();  // the turn before has read these
    if (lane == 31) found[warp] = upto;
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < kTrueWarps; ++w) {
      before += w < warp ? found[w] : 0;
      all += found[w];
    }
    if (!a.positions) {
      if (threadIdx.x == 0) store_global(a.counts + b, int64_t(all));
      continue;
    }
    if (all == 0) continue;
    int64_t* const out = a.positions + (b ? load_global(a.counts + b - 1) : 0) + before;
    const int start = upto - __popc(mine);
    for (int w = 0; w < 32; ++w) {
      const unsigned word = __shfl_sync(0xffffffffu, mine, w);
      const int at = __shfl_sync(0xffffffffu, start, w) + __popc(word & ((1u << lane) - 1));
      if (word >> lane & 1) store_global(out + at, first + w * 32 + lane);
    }
  }
}

template <class T> void true_entry(void* stream, const void* p) {
  const TrueArgs& a = *static_cast<const TrueArgs*>(p);
  const int64_t blocks = (a.numel + kTrueBlock - 1) / kTrueBlock;
  FLAM_LAUNCH((true_kernel<T>), dim3(unsigned(blocks < 65535 ? blocks : 65535)), dim3(kTrueThreads),
              0, stream, a);
}

}  // namespace flambeau::FLAM_TARGET
