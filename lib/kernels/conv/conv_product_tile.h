// The tiles of a block and the sums of a warp by matrix units, for half types: eight warps share
// 128 rows and 64 or 128 columns, each 32 columns wide. conv_product_exact.h is the same for f32.
#pragma once
#include "kernels/conv/conv_product_load.h"
#include "kernels/tile/load_matrix.h"
#include "kernels/tile/mma.h"

namespace flambeau::FLAM_TARGET {

enum class ConvResult { forward, data, weight };

// Where things are in a block. Turned tiles have rows that go along the depth.
template <class T, ConvResult kResult, int kColumns_, bool kPlanes = false> struct ConvLayout {
  static constexpr int kColumns = kColumns_;
  static constexpr bool kTurnedA = (kResult == ConvResult::weight) != kPlanes,
                        kTurnedB = !kPlanes && kResult != ConvResult::forward;
  static constexpr int kStages = 3, kBytesA = kConvRows * kConvStepChunks * 16,
                       kBytes = kBytesA + kColumns * kConvStepChunks * 16;
  static constexpr int kWarpColumns = 32, kWarpsAcross = kColumns / kWarpColumns,
                       kWarpRows = kConvRows / (kConvThreads / 32 / kWarpsAcross);
  using RowsA = Swizzle<kConvRows* int(sizeof(T))>;
  using RowsB = Swizzle<kColumns* int(sizeof(T))>;

  static FLAM_FN int row() { return int(threadIdx.x) / 32 / kWarpsAcross * kWarpRows; }
  static FLAM_FN int column() { return int(threadIdx.x) / 32 % kWarpsAcross * kWarpColumns; }
};

// A lane's sums: kRows x kColumns of them, of which at(i, j) is in row(i) and column(j) of the
// warp's part; columns 2 j and 2 j + 1 are neighbours.
template <class T, class L> struct ConvUnits {
  static constexpr int kDown = L::kWarpRows / 16, kAcross = L::kWarpColumns / 8, kRows = 2 * kDown,
                       kColumns = 2 * kAcross;
  FragmentSum<T> sum[kDown][kAcross] = {};

  static FLAM_FN int row(int i) { return i / 2 * 16 + sum_row(int(threadIdx.x) % 32, i % 2 * 2); }
  static FLAM_FN int column(int j) { return j / 2 * 8 + sum_column(int(threadIdx.x) % 32, j % 2); }
  FLAM_FN float at(int i, int j) const { return sum[i / 2][j / 2].v[i % 2 * 2 + j % 2]; }

  // Sixteen rows of A, sixteen deep: matrix 2 h + u of the fragment is rows 8 u, depths 8 h.
  static __device__ __forceinline__ void load(FragmentA<T>& a, const char* tile, int row,
                                              int depth) {
    const int matrix = int(threadIdx.x) % 32 / 8, line = int(threadIdx.x) % 8, u = matrix % 2,
              h = matrix / 2;
    const int at = L::kTurnedA ? L::RowsA::offset(depth + 8 * h + line, row / 8 + u)
                               : ConvDepthRows::offset(row + 8 * u + line, depth / 8 + h);
    load_matrices<L::kTurnedA>(a.r, tile + at);
  }
  // Sixteen columns of B: matrix 2 u + h is columns 8 u, depths 8 h.
  static __device__ __forceinline__ void load(FragmentB<T> (&b)[2], const char* tile, int column,
                                              int depth) {
    const int matrix = int(threadIdx.x) % 32 / 8, line = int(threadIdx.x) % 8, u = matrix / 2,
              h = matrix % 2;
    const int at = L::kTurnedB ? L::RowsB::offset(depth + 8 * h + line, column / 8 + u)
                               : ConvDepthRows::offset(column + 8 * u + line, depth / 8 + h);
    uint32_t r[4];
    load_matrices<L::kTurnedB>(r, tile + at);
    for (int i = 0; i < 4; ++i) b[i / 2].r[i % 2] = r[i];
  }

  // The products of a step, whose tiles lie at `stage`.
  __device__ __forceinline__ void add(const char* stage) {
    FragmentA<T> a[kDown];
    FragmentB<T> b[kAcross / 2][2];
#pragma unroll
    for (int depth = 0; depth < kConvStep<T>; depth += 16) {
#pragma unroll
      for (int i = 0; i < kDown; ++i) load(a[i], stage, L::row() + 16 * i, depth);
#pragma unroll
      for (int j = 0; j < kAcross / 2; ++j)
        load(b[j], stage + L::kBytesA, L::column() + 16 * j, depth);
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
#pragma unroll
        for (int j = 0; j < kAcross; ++j) multiply(sum[i][j], a[i], b[j / 2][j % 2]);
      }
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
