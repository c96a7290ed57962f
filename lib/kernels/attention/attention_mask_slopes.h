// The gradient of what a mask adds to scores, on devices: a block has a tile of the mask and goes
// through all heads, and all rows and columns of tiles, that the mask repeats itself in. So each
// element is one sum in one order, and no score is written. Heads of any width come by parts of one
// width, for both products sum along it.
#pragma once
#include "kernels/attention/attention_backward.h"

namespace flambeau::FLAM_TARGET {

// Queries, keys, values and slopes of y, of which the next arrive while these are used.
template <class T> struct MaskTile {
  static constexpr int kWidth = 128 / int(sizeof(T)), kRows = 16 * kAttentionThreads / 32,
                       kStep = kWidth, kStages = 2;
  using Queries = HeadTile<T, kRows, kWidth>;
  using Keys = HeadTile<T, kStep, kWidth>;
  static constexpr int kPassingAt = 0, kSlopesAt = Queries::kBytes, kKeysAt = 2 * Queries::kBytes,
                       kValuesAt = kKeysAt + Keys::kBytes, kStageBytes = kValuesAt + Keys::kBytes,
                       kBytes = kStages * kStageBytes;
  static_assert(kBytes <= kMostShared && kRows * kStep * 4 <= kBytes);
};

// Tiles of scores from the first to before the last.
struct MaskSpan {
  int64_t batch, batches, head, heads, row, rows, column, columns;
  int parts;  // of a head's width

  __device__ int64_t passes() const {
    return (batches - batch) * (heads - head) * (rows - row) * (columns - column) * parts;
  }
};

// One of a span's tiles, and a part of its width.
struct MaskPlace {
  int64_t batch, head, row, column;
  int part = 0;

  __device__ explicit MaskPlace(const MaskSpan& s)
      : batch(s.batch), head(s.head), row(s.row), column(s.column) {}

  __device__ void advance(const MaskSpan& s) {
    if (++part < s.parts) return;
    part = 0;
    if (++column < s.columns) return;
    column = s.column;
    if (++row < s.rows) return;
    row = s.row;
    if (++head < s.heads) return;
    head = s.head;
    ++batch;
  }
};

template <class T>
__device__ __forceinline__ void fill_mask_tile(const AttentionBackwardArgs& b, const MaskPlace& p,
                                               unsigned char* stage) {
  using Tile = MaskTile<T>;
  const AttentionArgs& g = b.of;
  const int64_t kv = p.head / g.shared, row = p.row * Tile::kRows, key = p.column * Tile::kStep,
                at = p.part * int64_t(Tile::kWidth);
  Tile::Queries::Along::fill(stage, head_source<T>(g.q, p.batch, p.head, g.length, g.width), row,
                             at);
  Tile::Queries::Along::fill(stage + Tile::kSlopesAt,
                             head_source<T>(b.dy, p.batch, p.head, g.length, g.value_width), row,
                             at);
  Tile::Keys::Along::fill(stage + Tile::kKeysAt, head_source<T>(g.k, p.batch, kv, g.keys, g.width),
                          key, at);
  Tile::Keys::Along::fill(stage + Tile::kValuesAt,
                          head_source<T>(g.v, p.batch, kv, g.keys, g.value_width), key, at);
}

// What the scores of one tile, and the slopes of their weights, add to the mask's sums.
template <class T>
__device__ __forceinline__ void add_mask_slopes(const AttentionBackwardArgs& b,
                                                FragmentSum<T> (&sums)[MaskTile<T>::kStep / 8],
                                                FragmentSum<T> (&scores)[MaskTile<T>::kStep / 8],
                                                FragmentSum<T> (&slope)[MaskTile<T>::kStep / 8],
                                                const MaskPlace& p) {
  using Tile = MaskTile<T>;
  const int lane = int(threadIdx.x) % 32;
  const int64_t query = p.row * Tile::kRows + int(threadIdx.x) / 32 * 16,
                key = p.column * Tile::kStep;
  const DropRule<false> drop(b.of, p.batch, p.head);
  drop.turn_back(slope, drop.template kept<T, Tile::kStep / 8>(query, key));
  ScoreRule<false>(b.of, p.batch, p.head).apply(scores, query, key);
  const RowStatistics statistics(b, p.batch, p.head);
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int64_t at = query + sum_row(lane, 2 * u);
    const float top = statistics.top(at), share = statistics.factor(at),
                mean = statistics.mean_slope(at);
#pragma unroll
    for (int j = 0; j < Tile::kStep / 8; ++j)
#pragma unroll
      for (int e = 2 * u; e < 2 * u + 2; ++e) {
        sums[j].v[e] += weight_of(scores[j].v[e], top, share) * (slope[j].v[e] - mean);
        scores[j].v[e] = slope[j].v[e] = 0;
      }
  }
}

// A tile's rows and columns as one row or one column where the mask has one.
template <class T>
__device__ void store_mask_slopes(const AttentionBackwardArgs& b, const MaskSpan& span,
                                  unsigned char* shared,
                                  const FragmentSum<T> (&sums)[MaskTile<T>::kStep / 8]) {
  constexpr int kRows = MaskTile<T>::kRows, kStep = MaskTile<T>::kStep;
  const int lane = int(threadIdx.x) % 32, first = int(threadIdx.x) / 32 * 16;
  const AttentionOperand& o = b.dmask;
  float* const tile = reinterpret_cast<float*>(shared);  // of the rows and columns of sums
#pragma unroll
  for (int j = 0; j < kStep / 8; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      tile[(first + sum_row(lane, e)) * kStep + 8 * j + whole_sum_column<T>(lane, e)] =
          sums[j].v[e];
  __syncthreads();
  float* const to = reinterpret_cast<float*>(o.data) + span.batch * o.batch + span.head * o.head;
  const int rows = o.row ? 1 : kRows, columns = o.col ? 1 : kStep, across = kStep / columns;
  for (int i = int(threadIdx.x); i < kRows / rows * across; i += kAttentionThreads) {
    const int r = i / across, c = i % across;
    float sum = 0;
    for (int y = r; y < r + rows; ++y)
      for (int x = c; x < c + columns; ++x) sum += tile[y * kStep + x];
    const int64_t row = o.row ? span.row * kRows + r : 0,
                  column = o.col ? span.column * kStep + c : 0;
    if (row < b.of.length && column < b.of.keys) to[row * o.row + column * o.col] = sum;
  }
}

template <class T>
__device__ int64_t mask_tiles(const AttentionBackwardArgs& b, bool rows) {
  const int each = rows ? MaskTile<T>::kRows : MaskTile<T>::kStep;
  return ((rows ? b.of.length : b.of.keys) + each - 1) / each;
}

template <class T>
__global__ void __launch_bounds__(kAttentionThreads, 2)
    attention_mask_slopes_kernel(AttentionBackwardArgs b) {
  FLAM_DYNAMIC_SHARED(unsigned char, shared);
  using Tile = MaskTile<T>;
  const AttentionOperand& o = b.dmask;
  const int64_t high = mask_tiles<T>(b, true), wide = mask_tiles<T>(b, false);
  const int64_t rows = o.row ? high : 1, columns = o.col ? wide : 1,
                heads = o.head ? b.of.heads : 1, batches = o.batch ? b.of.batches : 1,
                width = b.of.width > b.of.value_width ? b.of.width : b.of.value_width;
  for (int64_t i = blockIdx.x; i < rows * columns * heads * batches; i += gridDim.x) {
    const int64_t column = i % columns, row = i / columns % rows, head = i / columns / rows % heads,
                  batch = i / columns / rows / heads;
    const MaskSpan span{batch,
                        o.batch ? batch + 1 : b.of.batches,
                        head,
                        o.head ? head + 1 : b.of.heads,
                        row,
                        o.row ? row + 1 : high,
                        column,
                        o.col ? column + 1 : wide,
                        int((width + Tile::kWidth - 1) / Tile::kWidth)};
    FragmentSum<T> sums[Tile::kStep / 8] = {}, scores[Tile::kStep / 8] = {},
                                      slope[Tile::kStep / 8] = {};
    MaskPlace coming(span), at(span);
    const auto fill = [&](int64_t, unsigned char* stage) {
      fill_mask_tile<T>(b, coming, stage);
      coming.advance(span);
    };
    pass_tiles<Tile>(span.passes(), shared, fill, [&](int64_t, unsigned char* stage) {
      const int first = int(threadIdx.x) / 32 * 16;
      multiply_along<T, Tile::kRows, Tile::kStep, Tile::kWidth>(scores, stage, first,
                                                                stage + Tile::kKeysAt);
      multiply_along<T, Tile::kRows, Tile::kStep, Tile::kWidth>(slope, stage + Tile::kSlopesAt,
                                                                first, stage + Tile::kValuesAt);
      if (at.part + 1 == span.parts) add_mask_slopes<T>(b, sums, scores, slope, at);
      at.advance(span);
    });
    store_mask_slopes<T>(b, span, shared, sums);
    __syncthreads();
  }
}

template <class T>
void launch_attention_mask_slopes(void* stream, const AttentionBackwardArgs& b) {
  using Tile = MaskTile<T>;
  const AttentionArgs& g = b.of;
  const auto tiles = [](int64_t n, int64_t by, int64_t step) {
    return step ? (n + by - 1) / by : 1;
  };
  const int64_t blocks = tiles(g.length, Tile::kRows, b.dmask.row) *
                         tiles(g.keys, Tile::kStep, b.dmask.col) * (b.dmask.head ? g.heads : 1) *
                         (b.dmask.batch ? g.batches : 1);
  FLAM_LAUNCH((attention_mask_slopes_kernel<T>),
              dim3(unsigned(blocks < (1 << 30) ? blocks : 1 << 30)), dim3(kAttentionThreads),
              Tile::kBytes, stream, b);
}

}  // namespace flambeau::FLAM_TARGET
