// How a block of convolutions as products writes its sums: with bias and activation as the result,
// 16 bytes at a time where channels lie next to each other, or as parts of a longer sum.
#pragma once
#include "kernels/conv/conv_product_tile.h"
#include "kernels/gemm/gemm_value.h"
#include "kernels/tile/narrow_pair.h"
#include "kernels/tile/shared_access.h"

namespace flambeau::FLAM_TARGET {

// A row's first element in the result, from group `group` on.
FLAM_FN int64_t conv_row_offset(const ConvProduct& g, uint32_t row, int group) {
  int64_t at = int64_t(group) * g.columns * g.out.inner;
  for (int d = kConvDims; d-- > 0;) {
    const uint32_t outer = divide(row, g.positions[d]);
    at += int64_t(row) * g.out.space[d];
    row = outer;
  }
  return at + int64_t(row) * g.out.outer;
}

template <class T> FLAM_FN float conv_bias(const ConvProduct& g, int column, int group) {
  if (!g.bias || column >= g.columns) return 0;
  const T* bias = reinterpret_cast<const T*>(g.bias);
  return float(bias[(int64_t(group) * g.columns + column) * g.bias_stride]);
}

// A sum as an element of the result; half types by the instruction that rounds two.
template <class T> __device__ __forceinline__ T conv_element(float sum, Activation activation) {
  if constexpr (sizeof(T) == 2) {
    if (activation == Activation::relu && sum < 0) sum = 0;
    T v;
    v.bits = uint16_t(narrow_pair<T>(sum, 0));
    return v;
  } else {
    return gemm_finish<T>(sum, activation);
  }
}

// Each element where it belongs, in a result of any strides.
template <class T, class Sums>
__device__ void conv_store_each(const Sums& sums, const ConvProduct& g, int row, int column,
                                int group) {
  T* out = reinterpret_cast<T*>(g.out.data);
#pragma unroll
  for (int i = 0; i < Sums::kRows; ++i) {
    const int r = row + Sums::row(i);
    if (r >= g.rows) continue;
    T* const line = out + conv_row_offset(g, uint32_t(r), group);
#pragma unroll
    for (int j = 0; j < Sums::kColumns; ++j) {
      const int c = column + Sums::column(j);
      if (c >= g.columns) continue;
      line[c * g.out.inner] =
          conv_element<T>(sums.at(i, j) + conv_bias<T>(g, c, group), g.activation);
    }
  }
}

// By way of shared memory, of which each warp has a part: rows of 32 channels, 16 bytes of one a
// lane. Rounding first and ReLU then would give the same.
template <class T, class L, class Sums>
__device__ void conv_store_chunks(const Sums& sums, const ConvProduct& g, int row, int column,
                                  int group, char* shared) {
  using Rows = Swizzle<L::kWarpColumns * 2>;
  constexpr int kChunks = L::kWarpColumns / kConvChunk<T>;
  char* const part = shared + int(threadIdx.x) / 32 * L::kWarpRows * Rows::kRowBytes;
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int j = 0; j < Sums::kColumns; j += 2) {
    const int c = Sums::column(j);
    const float first = conv_bias<T>(g, column + c, group),
                second = conv_bias<T>(g, column + c + 1, group);
#pragma unroll
    for (int i = 0; i < Sums::kRows; ++i) {
      float v = sums.at(i, j) + first, w = sums.at(i, j + 1) + second;
      if (g.activation == Activation::relu) v = v < 0 ? 0 : v, w = w < 0 ? 0 : w;
      store_shared(
          reinterpret_cast<uint32_t*>(part + Rows::offset(Sums::row(i), c / kConvChunk<T>) +
                                      c % kConvChunk<T> * 2),
          narrow_pair<T>(v, w));
    }
  }
  __syncwarp();
  T* out = reinterpret_cast<T*>(g.out.data);
#pragma unroll
  for (int i = 0; i < L::kWarpRows * kChunks / 32; ++i) {
    const int r = (i * 32 + lane) / kChunks, chunk = lane % kChunks,
              c = column + chunk * kConvChunk<T>;
    const uint4 v = load_shared(reinterpret_cast<const uint4*>(part + Rows::offset(r, chunk)));
    if (row + r >= g.rows || c >= g.columns) continue;
    T* const to = out + conv_row_offset(g, uint32_t(row + r), group) + c;
    *reinterpret_cast<uint4*>(to) = v;
  }
}

// `shared` is what the stages were in, once no warp reads them any more.
template <class T, class L, class Sums>
__device__ void conv_store(const Sums& sums, const ConvProduct& g, int row, int column, int group,
                           char* shared) {
  if constexpr (sizeof(T) == 2) {
    if (g.chunks_out) {
      __syncthreads();
      return conv_store_chunks<T, L>(sums, g, row, column, group, shared);
    }
  }
  conv_store_each<T>(sums, g, row, column, group);
}

template <class Sums>
__device__ void conv_store_part(const Sums& sums, const ConvProduct& g, int row, int column,
                                int group, int split) {
  float* const part = g.parts + (int64_t(split) * g.groups + group) * g.rows * g.columns;
#pragma unroll
  for (int i = 0; i < Sums::kRows; ++i) {
    const int r = row + Sums::row(i);
#pragma unroll
    for (int j = 0; j < Sums::kColumns; ++j) {
      const int c = column + Sums::column(j);
      if (r < g.rows && c < g.columns) part[int64_t(r) * g.columns + c] = sums.at(i, j);
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
