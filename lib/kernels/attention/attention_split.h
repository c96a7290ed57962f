// Attention of few queries and many keys on devices, as decoding has it: several blocks take some
// of the keys each, so that there are enough blocks for a GPU, and leave their sums in memory.
// Those of a row are joined in the order of the keys, whichever block was first.
#pragma once
#include "kernels/attention/attention_tile.h"

namespace flambeau::FLAM_TARGET {

// Where the sums of one row over one share of the keys are: the largest score, the sum of weights
// under it, then those of values.
__device__ __forceinline__ float* split_part(const AttentionArgs& g, int64_t batch, int64_t head,
                                             int64_t row, int64_t split) {
  return g.parts +
         (((batch * g.heads + head) * g.length + row) * g.splits + split) * (g.value_width + 2);
}

template <class T, class Rows, class Part>
__device__ void store_split(const AttentionArgs& g, const Rows& rows, const Part& part,
                            int64_t batch, int64_t head, int64_t query, int64_t split) {
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int64_t row = query + part.row + sum_row(lane, 2 * u);
    if (row >= g.length) continue;
    float* const to = split_part(g, batch, head, row, split);
    if (part.column == 0 && lane % 4 == 0) {
      to[0] = rows.top[u];
      to[1] = rows.sum[u];
    }
#pragma unroll
    for (int n = 0; n < Part::kColumns / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int64_t c = part.column + 8 * n + sum_column(lane, e);
        if (c < g.value_width) to[2 + c] = rows.mixed[n].v[2 * u + e];
      }
    }
  }
}

// A warp for each row.
template <class T> __global__ void attention_join_kernel(AttentionArgs g) {
  const int64_t all = g.batches * g.heads * g.length, warps = int64_t(gridDim.x) * blockDim.x / 32;
  for (int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32; i < all; i += warps) {
    const int64_t row = i % g.length, head = i / g.length % g.heads, batch = i / g.length / g.heads,
                  pitch = g.value_width + 2;
    const float* const parts = split_part(g, batch, head, row, 0);
    float top = -INFINITY, sum = 0;
    for (int64_t s = 0; s < g.splits; ++s) top = fmaxf(top, parts[s * pitch]);
    const float base = top == -INFINITY ? 0 : top;
    for (int64_t s = 0; s < g.splits; ++s)
      sum += exp2f(parts[s * pitch] - base) * parts[s * pitch + 1];
    const float share = sum == 0 ? 0 : 1 / sum;
    T* const out = reinterpret_cast<T*>(g.out.data) + batch * g.out.batch + head * g.out.head +
                   row * g.out.row;
    for (int64_t c = threadIdx.x % 32; c < g.value_width; c += 32) {
      float mixed = 0;
      for (int64_t s = 0; s < g.splits; ++s)
        mixed += exp2f(parts[s * pitch] - base) * parts[s * pitch + 2 + c];
      out[c * g.out.col] = T(mixed * share * g.kept_factor);
    }
    if (g.statistics && threadIdx.x % 32 == 0) {
      g.statistics[2 * i] = sum == 0 ? 0 : top;
      g.statistics[2 * i + 1] = share;
    }
  }
}

template <class T> void launch_attention_join(void* stream, const AttentionArgs& g) {
  const int64_t blocks = (g.batches * g.heads * g.length + 3) / 4;
  FLAM_LAUNCH((attention_join_kernel<T>), dim3(unsigned(blocks < (1 << 30) ? blocks : 1 << 30)),
              dim3(kAttentionThreads), 0, stream, g);
}

}  // namespace flambeau::FLAM_TARGET
