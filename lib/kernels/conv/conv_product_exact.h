// The sums of a warp by multiply-adds of f32, exact where matrix units would round operands to
// tf32. A warp is eight lanes down and four across; what eight lanes read at a time is eight rows'
// chunks, eight chunks of a row or one word, so that no bank is met twice.
#pragma once
#include "kernels/conv/conv_product_tile.h"
#include "kernels/tile/shared_access.h"

namespace flambeau::FLAM_TARGET {

template <class L> struct ConvExact {
  static constexpr int kRows = L::kWarpRows / 8, kColumns = L::kWarpColumns / 4;
  float sum[kRows][kColumns] = {};

  static FLAM_FN int down() { return int(threadIdx.x) % 8; }
  static FLAM_FN int across() { return int(threadIdx.x) % 32 / 8; }
  static FLAM_FN int row(int i) {
    return L::kTurnedA ? i / 4 * 32 + down() * 4 + i % 4 : i * 8 + down();
  }
  static FLAM_FN int column(int j) {
    return L::kTurnedB ? j / 4 * 16 + across() * 4 + j % 4 : j * 4 + across();
  }
  FLAM_FN float at(int i, int j) const { return sum[i][j]; }

  static __device__ __forceinline__ float4 chunk(const char* p) {
    return load_shared(reinterpret_cast<const float4*>(p));
  }
  static FLAM_FN float word(const float4& v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
  }

  // Four rows' or columns' values at four depths, of either kind of tile.
  template <bool kTurned, class Rows, int kCount>
  static __device__ __forceinline__ void load(float (&to)[4][kCount], const char* tile, int first,
                                              int lane, int lanes, int depth) {
    if constexpr (kTurned) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int i = 0; i < kCount / 4; ++i) {
          const float4 v = chunk(tile + Rows::offset(depth + k, first / 4 + i * lanes + lane));
#pragma unroll
          for (int e = 0; e < 4; ++e) to[k][4 * i + e] = word(v, e);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const float4 v = chunk(tile + ConvDepthRows::offset(first + i * lanes + lane, depth / 4));
#pragma unroll
        for (int k = 0; k < 4; ++k) to[k][i] = word(v, k);
      }
    }
  }

  __device__ __forceinline__ void add(const char* stage) {
#pragma unroll
    for (int depth = 0; depth < kConvStep<float>; depth += 4) {
      float a[4][kRows], b[4][kColumns];
      load<L::kTurnedA, typename L::RowsA>(a, stage, L::row(), down(), 8, depth);
      load<L::kTurnedB, typename L::RowsB>(b, stage + L::kBytesA, L::column(), across(), 4, depth);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
#pragma unroll
          for (int j = 0; j < kColumns; ++j) sum[i][j] += a[k][i] * b[k][j];
        }
      }
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
