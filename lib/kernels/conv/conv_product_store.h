// How a block of convolutions as products writes its sums: with bias and activation as the result,
// 16 bytes at a time where channels lie next to each other, as the gradient by the weight, or as
// parts of it, which are added up first to last.
#pragma once
#include "kernels/conv/conv_product_tile.h"
#include "kernels/gemm/gemm_value.h"
#include "kernels/last_block.h"
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

// From an output channel's start in the weight to what a column is of it, a tap and a channel of
// the image; -1 of what only fills a chunk.
template <class T> FLAM_FN int64_t conv_weight_offset(const ConvProduct& g, int column) {
  uint32_t chunk = uint32_t(column) / kConvChunk<T>;
  uint32_t tap = divide(chunk, g.chunks);
  const int channel = int(chunk) * kConvChunk<T> + column % kConvChunk<T>;
  if (column >= g.columns || channel >= g.met.channels) return -1;
  int64_t at = int64_t(channel) * g.out.inner;
  for (int d = kConvDims; d-- > 0;) {
    const uint32_t outer = divide(tap, g.taps[d]);
    at += int64_t(tap) * g.out.space[d];
    tap = outer;
  }
  return at;
}

template <class T> FLAM_FN int64_t conv_weight_offset(const ConvPlanes& g, int column) {
  if (column >= g.columns) return -1;
  uint32_t tap = uint32_t(column);
  int64_t at = int64_t(divide(tap, g.all_taps)) * g.out.inner;
  for (int d = kConvDims; d-- > 0;) {
    const uint32_t outer = divide(tap, g.taps[d]);
    at += int64_t(tap) * g.out.space[d];
    tap = outer;
  }
  return at;
}

template <class T, class Sums, class G>
__device__ void conv_store_weight(const Sums& sums, const G& g, int row, int column, int group) {
  T* const out = reinterpret_cast<T*>(g.out.data) + int64_t(group) * g.rows * g.out.outer;
#pragma unroll
  for (int j = 0; j < Sums::kColumns; ++j) {
    const int64_t at = conv_weight_offset<T>(g, column + Sums::column(j));
#pragma unroll
    for (int i = 0; i < Sums::kRows; ++i) {
      const int r = row + Sums::row(i);
      if (at >= 0 && r < g.rows)
        out[r * g.out.outer + at] = conv_element<T>(sums.at(i, j), Activation::none);
    }
  }
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

// An element of the gradient by the weight: the sum of its parts.
template <class T, class G>
__device__ __forceinline__ void conv_add_parts(const G& g, int group, int row, int column) {
  const int64_t part = int64_t(g.groups) * g.rows * g.columns,
                at = conv_weight_offset<T>(g, column);
  if (at < 0) return;
  const float* const p = g.parts + (int64_t(group) * g.rows + row) * g.columns + column;
  float sum = 0;
  for (int s = 0; s < g.splits; ++s) sum += p[s * part];
  reinterpret_cast<T*>(g.out.data)[(int64_t(group) * g.rows + row) * g.out.outer + at] =
      conv_element<T>(sum, Activation::none);
}

// Those of a tile, by all threads of a block.
template <class T, int kColumns, class G>
__device__ inline void conv_add_tile(const G& g, unsigned tile, int group) {
  const int row = int(tile) / g.column_tiles * kConvRows,
            column = int(tile) % g.column_tiles * kColumns;
#pragma unroll 1
  for (int i = int(threadIdx.x); i < kConvRows * kColumns; i += kConvThreads) {
    const int r = row + i / kColumns, c = column + i % kColumns;
    if (r < g.rows && c < g.columns) conv_add_parts<T>(g, group, r, c);
  }
}

// Every split of a tile comes here; the last one adds the parts up. Tiles share tickets where there
// are more of them.
template <class T, int kColumns, class G> __device__ inline void conv_add_by_last(const G& g) {
  const unsigned in_group = gridDim.x, tiles = in_group * gridDim.y,
                 ticket = (blockIdx.y * in_group + blockIdx.x) % kTickets,
                 sharing = (tiles - ticket + kTickets - 1) / kTickets;
  if (!is_last_block(g.tickets, int(ticket), sharing * unsigned(g.splits))) return;
  for (unsigned tile = ticket; tile < tiles; tile += kTickets)
    conv_add_tile<T, kColumns>(g, tile % in_group, int(tile / in_group));
}

}  // namespace flambeau::FLAM_TARGET
