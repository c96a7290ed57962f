// What attention on devices has in common forward and backward: the tiles of a head in shared
// memory, products of a warp's 16 rows with a tile, and which scores count. Results of one product
// are an operand of the next where they are, in registers. Of wide heads several warps make the
// scores of the same rows, and each sums its part of the columns, for which registers last.
#pragma once
#include "kernels/attention/attention.h"
#include "kernels/cuda_launch.h"
#include "kernels/tile/slice.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kAttentionThreads = 128;
inline constexpr float kLog2E = 1.44269504f, kLargest = 3.40282347e38f;

// kRows rows of a head, padded to kWidth columns: as an operand whose sums go along the columns,
// and as one whose sums go along the rows. Both lie the same way.
template <class T, int kRows, int kWidth> struct HeadTile {
  using Along = TileSlice<T, kRows, kWidth, true, kAttentionThreads>;
  using Across = TileSlice<T, kWidth, kRows, false, kAttentionThreads>;
  static constexpr int kBytes = Along::kBytes;
};

// Which rows of a tile and which columns of its sums are a warp's.
template <int kWarpsARow, int kWidth> struct WarpPart {
  static constexpr int kRows = 16 * (kAttentionThreads / 32) / kWarpsARow,
                       kColumns = kWidth / kWarpsARow;
  int row = int(threadIdx.x) / 32 / kWarpsARow * 16,
      column = int(threadIdx.x) / 32 % kWarpsARow * kColumns;
};

template <class T>
__device__ SliceSource<T> head_source(const AttentionOperand& o, int64_t batch, int64_t head,
                                      int64_t rows, int64_t columns) {
  const T* data = reinterpret_cast<const T*>(o.data) + batch * o.batch + head * o.head;
  const bool chunked = o.col == 1 && o.row * int64_t(sizeof(T)) % 16 == 0 &&
                       reinterpret_cast<uintptr_t>(data) % 16 == 0;
  return {data, o.row, o.col, rows, columns, chunked};
}

// sums += a b' for the 16 rows of A from `row` and all kRows rows of B.
template <class T, int kRowsOfA, int kRows, int kWidth>
__device__ __forceinline__ void multiply_along(FragmentSum<T> (&sums)[kRows / 8],
                                               const unsigned char* a, int row,
                                               const unsigned char* b) {
  // Unrolled wholly, wide heads would have more operands under way than there are registers.
  [[maybe_unused]] constexpr int kUnder = kWidth > 128 || sizeof(T) == 4 ? 1 : 2;
#pragma unroll kUnder
  for (int step = 0; step < kWidth / FragmentA<T>::kDepth; ++step) {
    const auto left =
        whole_operand(HeadTile<T, kRowsOfA, kWidth>::Along::template a<true>(a, row, step));
#pragma unroll
    for (int j = 0; j < kRows / 8; j += 2) {
      FragmentB<T> right[2];
      HeadTile<T, kRows, kWidth>::Along::template b<true>(right, b, 8 * j, step);
      multiply_whole(sums[j], left, whole_operand(right[0]));
      multiply_whole(sums[j + 1], left, whole_operand(right[1]));
    }
  }
}

// sums += weights b for kColumns columns of b from `column`, where the weights of 16 rows lie as a
// product has left them.
template <class T, int kRows, int kWidth, int kColumns>
__device__ __forceinline__ void multiply_across(FragmentSum<T> (&sums)[kColumns / 8],
                                                const FragmentSum<T> (&weights)[kRows / 8],
                                                const unsigned char* b, int column) {
#pragma unroll
  for (int step = 0; step < kRows / FragmentA<T>::kDepth; ++step) {
    const auto a = whole_operand(sums_as_operand(weights, step));
#pragma unroll
    for (int n = 0; n < kColumns / 8; n += 2) {
      FragmentB<T> v[2];
      HeadTile<T, kRows, kWidth>::Across::template b<true>(v, b, column + 8 * n, step);
      multiply_whole(sums[n], a, whole_operand(v[0]));
      multiply_whole(sums[n + 1], a, whole_operand(v[1]));
    }
  }
}

// What a mask adds to a score in units of log2. The least number of a type hides nothing where it
// is all there is: it stays finite.
__device__ __forceinline__ float scaled_mask(float m) {
  const float scaled = m * kLog2E;
  return scaled == -INFINITY && m != -INFINITY ? -kLargest : scaled;
}

// From products of queries and keys to scores in units of log 2: scaled, what the mask adds, and
// -infinity where a key does not count. Queries are the rows, or the keys where it is turned.
template <bool kTurned> struct ScoreRule {
  int64_t rows, columns;
  const float* mask;  // of this head; null: none
  int64_t mask_row, mask_column;
  float scale;  // log2(e) in it
  bool causal;

  __device__ ScoreRule(const AttentionArgs& g, int64_t batch, int64_t head)
      : rows(kTurned ? g.keys : g.length),
        columns(kTurned ? g.length : g.keys),
        mask(reinterpret_cast<const float*>(g.mask.data)),
        mask_row(kTurned ? g.mask.col : g.mask.row),
        mask_column(kTurned ? g.mask.row : g.mask.col),
        scale(float(g.scale) * kLog2E),
        causal(g.causal) {
    if (mask) mask += batch * g.mask.batch + head * g.mask.head;
  }

  // 16 rows from `row`, by the warp together.
  template <class T, int kTiles>
  __device__ __forceinline__ void apply(FragmentSum<T> (&scores)[kTiles], int64_t row,
                                        int64_t column) const {
    const int64_t last_row = row + 15, last_column = column + 8 * kTiles - 1;
    const bool seen = !causal || (kTurned ? last_row <= column : last_column <= row);
    if (!mask && seen && last_row < rows && last_column < columns) {
#pragma unroll
      for (auto& part : scores)
#pragma unroll
        for (float& s : part.v) s *= scale;
    } else {
      apply_to_row(scores, row, column, 0);
      apply_to_row(scores, row, column, 1);
    }
  }

 private:
  static __device__ __forceinline__ int clamped(int64_t n, int least, int most) {
    return n < least ? least : n < most ? int(n) : most;
  }

  template <class T, int kTiles>
  __device__ __forceinline__ void apply_to_row(FragmentSum<T> (&scores)[kTiles], int64_t row,
                                               int64_t column, int u) const {
    const int lane = int(threadIdx.x) % 32;
    const int64_t r = row + sum_row(lane, 2 * u);
    const int diagonal = clamped(r - column, -1, 8 * kTiles),
              from = causal && kTurned ? diagonal : 0;
    int end = r < rows ? clamped(columns - column, 0, 8 * kTiles) : 0;
    if (causal && !kTurned && diagonal < end) end = diagonal + 1;
    const float* m = mask ? mask + r * mask_row + column * mask_column : nullptr;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int e = 2 * u; e < 2 * u + 2; ++e) {
        const int c = 8 * j + whole_sum_column<T>(lane, e);
        const bool counts = c >= from && c < end;
        float& s = scores[j].v[e];
        s = counts ? s * scale : -INFINITY;
        if (m && counts) s += scaled_mask(m[c * mask_column]);
      }
    }
  }
};

// 16 rows of sums to an output, its kColumns columns from `column`; row r is multiplied by
// factor[r / 8].
template <class T, int kColumns>
__device__ __forceinline__ void store_head_rows(const AttentionOperand& o, int64_t batch,
                                                int64_t head, int64_t row, int64_t rows,
                                                int64_t columns, int column,
                                                const FragmentSum<T> (&sums)[kColumns / 8],
                                                const float (&factor)[2]) {
  T* data = reinterpret_cast<T*>(o.data) + batch * o.batch + head * o.head;
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int64_t r = row + sum_row(lane, 2 * u);
    if (r >= rows) continue;
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      const int64_t c = column + 8 * n + sum_column(lane, 0);
      const float left = sums[n].v[2 * u] * factor[u], right = sums[n].v[2 * u + 1] * factor[u];
      if constexpr (sizeof(T) == 4) {
        float* to = data + r * o.row + c * o.col;
        if (c < columns) to[0] = left;
        if (c + 1 < columns) to[o.col] = right;
      } else {
        const uint32_t pair = narrow_pair<T>(left, right);
        uint16_t* to = reinterpret_cast<uint16_t*>(data) + r * o.row + c * o.col;
        if (c < columns) to[0] = uint16_t(pair);
        if (c + 1 < columns) to[o.col] = uint16_t(pair >> 16);
      }
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
