// Dropout of attention's weights on devices: a weight stays or not by the place of its query and
// its key alone, so that backward draws what forward drew, whatever the tiles. The words of one
// Philox are for the four weights of two queries and two keys, each eight apart, as a lane of a
// warp has them whether queries or keys are the rows: none is drawn and left.
#pragma once
#include "kernels/attention/attention.h"
#include "kernels/random/philox.h"
#include "kernels/tile/mma_whole.h"

namespace flambeau::FLAM_TARGET {

// Queries are the rows, or the keys where it is turned.
template <bool kTurned> struct DropRule {
  __device__ DropRule(const AttentionArgs& g, int64_t batch, int64_t head)
      : g_(g), head_(batch * g.heads + head) {}

  // Of each of a lane's weights in 16 rows from `row`, whether it stays: bit 4 j + e of element e
  // of tile j. It comes when the scores' products are done, which take the most registers.
  template <class T, int kTiles>
  __device__ __forceinline__ uint32_t kept(int64_t row, int64_t column) const {
    static_assert(kTiles % 2 == 0 && kTiles <= 8, "whole Philoxes, and a bit a weight");
    uint32_t bits = 0;
    if (!any()) return bits;
    const int lane = int(threadIdx.x) % 32;
    const int64_t wide = places(g_.keys + 15), r = places(row) + lane / 4,
                  c = places(column) + whole_sum_column<T>(lane, 0), step = kTurned ? wide : 1;
    const uint64_t at =
        uint64_t(head_ * places(g_.length + 15) * wide + (kTurned ? c * wide + r : r * wide + c));
    const RandomState state =
        g_.draws ? RandomState{g_.draws->seed, g_.draws->offset + g_.draw.offset} : g_.draw;
#pragma unroll 1
    for (int i = 0; i < kTiles; ++i) {
      const int column_of = i / 2 * 8 + i % 2 * whole_column<T>(1);
      const Words w = philox(state.seed, state.offset, at + uint64_t(column_of * step));
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int u = 0; u < 2; ++u)
          bits |= uint32_t(w.word[kTurned ? 2 * j + u : 2 * u + j] >= g_.drop_below)
                  << (i / 2 * 8 + 4 * j + 2 * u + i % 2);
    }
    return bits;
  }

  // Weights that do not stay are 0; the others' factor comes with the sum.
  template <class T, int kTiles>
  __device__ __forceinline__ void apply(FragmentSum<T> (&weights)[kTiles], uint32_t bits) const {
    if (!any()) return;
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i)
      if (!(bits >> i & 1)) weights[i / 4].v[i % 4] = 0;
  }

  // What the slope of a weight is by the products of values and slopes.
  template <class T, int kTiles>
  __device__ __forceinline__ void turn_back(FragmentSum<T> (&slope)[kTiles], uint32_t bits) const {
    if (!any()) return;
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i)
      slope[i / 4].v[i % 4] = bits >> i & 1 ? slope[i / 4].v[i % 4] * g_.kept_factor : 0;
  }

 private:
  __device__ __forceinline__ bool any() const { return g_.drop_below > 0; }
  // Of the first eight of each 16 places that come before the n-th; n is a multiple of 16, or
  // rounded down to one.
  static __device__ __forceinline__ int64_t places(int64_t n) { return n / 16 * 8; }

  const AttentionArgs& g_;
  int64_t head_;  // among those of all batches
};

}  // namespace flambeau::FLAM_TARGET
