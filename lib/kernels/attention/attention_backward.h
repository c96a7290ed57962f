// Gradients of attention on devices: weights are made again from scores and the
// logarithm of their sum, tile by tile in registers. One kernel keeps queries and goes through keys
// for dq; it also leaves each row's product of y and dy, which it needs first, to another, which
// keeps keys and goes through all queries of all heads that share them for dk and dv: so each sum
// has one order and no two blocks add to one place. The next tile arrives while the one before is
// used.
// Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023).
#pragma once
#include "kernels/attention/attention_drop.h"
#include "kernels/attention/attention_tile.h"
#include "kernels/map/map_chunk.h"

namespace flambeau::FLAM_TARGET {

// Two operands that stay, of 64 rows or of fewer where they are wide, and two of kStep rows at a
// time, of which the next arrive while these are used, where the memory lasts.
template <class T, int kPaddedWidth> struct BackwardTile {
  static constexpr int kWidth = kPaddedWidth, kRowBytes = kWidth * int(sizeof(T)),
                       kStep = kRowBytes > 256 || sizeof(T) == 4 ? 16 : 32,
                       kStages = kRowBytes > 512 ? 1 : 2;
  using Part = WarpPart<(kRowBytes > 512 ? 4 : kRowBytes > 256 ? 2 : 1), kWidth>;
  using Kept = HeadTile<T, Part::kRows, kWidth>;
  using Passing = HeadTile<T, kStep, kWidth>;
  static constexpr int kPassingAt = 2 * Kept::kBytes, kStageBytes = 2 * Passing::kBytes,
                       kBytes = kPassingAt + kStages * kStageBytes;
};

// fill(i, stage) begins copies, use(i, stage) comes when they are there; what was begun before
// arrives with the first.
template <class Tile, class Count, class Fill, class Use>
__device__ __forceinline__ void pass_tiles(Count n, unsigned char* shared, const Fill& fill,
                                           const Use& use) {
  constexpr int kAhead = Tile::kStages - 1;
  const auto stage = [&](Count i) {
    return shared + Tile::kPassingAt + i % Tile::kStages * Tile::kStageBytes;
  };
  if (kAhead && n > 0) fill(0, stage(0));
  commit_copies();
  for (Count i = 0; i < n; ++i) {
    if (i + kAhead < n) fill(i + kAhead, stage(i + kAhead));
    commit_copies();
    wait_copies<kAhead>();
    __syncthreads();
    use(i, stage(i));
    __syncthreads();
  }
  wait_copies<0>();
  __syncthreads();
}

// The product of a row of y and its slopes, which four neighbouring lanes make together and all of
// them get, by one order of sums wherever the rows lie.
template <class T>
__device__ __forceinline__ float slope_along(const SliceSource<T>& y, const SliceSource<T>& dy,
                                             int64_t row) {
  constexpr int kEach = 16 / int(sizeof(T));
  const T* const left = y.data + row * y.major_stride;
  const T* const right = dy.data + row * dy.major_stride;
  const int first = int(threadIdx.x) % 4 * kEach, n = row < y.major_size ? int(y.minor_size) : 0;
  float sum = 0;
  if (y.chunked && dy.chunked && n % kEach == 0) {
#pragma unroll 2
    for (int at = first; at < n; at += 4 * kEach) {
      const auto a = Chunk<T, kEach>::from(left + at), b = Chunk<T, kEach>::from(right + at);
#pragma unroll
      for (int e = 0; e < kEach; ++e) sum += float(a.element(e)) * float(b.element(e));
    }
  } else {
#pragma unroll 1
    for (int at = first; at < n; at += at % kEach + 1 < kEach ? 1 : 3 * kEach + 1) {
      sum += float(left[at * y.minor_stride]) * float(right[at * dy.minor_stride]);
    }
  }
  for (int lanes = 1; lanes < 4; lanes *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  return sum;
}

// What the softmax of one query needs again.
struct RowStatistics {
  const float *kept, *delta;
  int64_t length;

  __device__ RowStatistics(const AttentionBackwardArgs& b, int64_t batch, int64_t head)
      : kept(b.of.statistics + (batch * b.of.heads + head) * b.of.length * 2),
        delta(b.delta + (batch * b.of.heads + head) * b.of.length),
        length(b.of.length) {}
  // Queries that are not there have weights of 0.
  __device__ float top(int64_t query) const { return query < length ? kept[2 * query] : 0; }
  __device__ float factor(int64_t query) const { return query < length ? kept[2 * query + 1] : 0; }
  __device__ float mean_slope(int64_t query) const { return query < length ? delta[query] : 0; }
};

// Those of a lane's two rows of the warp's 16 from `query`, whose delta is made, and kept by one of
// the warps that have these rows.
template <class T>
__device__ __forceinline__ void query_statistics(const AttentionBackwardArgs& b,
                                                 const SliceSource<T>& dy, int64_t batch,
                                                 int64_t head, int64_t query, bool keeps,
                                                 float (&top)[2], float (&share)[2],
                                                 float (&mean)[2]) {
  const AttentionArgs& g = b.of;
  const auto y = head_source<T>(g.out, batch, head, g.length, g.value_width);
  const RowStatistics statistics(b, batch, head);
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int64_t at = query + sum_row(lane, 2 * u);
    top[u] = statistics.top(at);
    share[u] = statistics.factor(at);
    mean[u] = slope_along(y, dy, at);
    if (keeps && lane % 4 == 0 && at < g.length)
      b.delta[(batch * g.heads + head) * g.length + at] = mean[u];
  }
}

// A score that is calculated again may lie above the largest by what its sum was rounded by.
__device__ __forceinline__ float weight_of(float score, float top, float share) {
  return exp2f(fminf(score - top, 0)) * share;
}

// dq of the tile's queries, from `query`, and their delta.
template <class T, class Tile>
__device__ void query_slopes(const AttentionBackwardArgs& b, unsigned char* shared, int64_t batch,
                             int64_t head, int64_t query) {
  const AttentionArgs& g = b.of;
  using Part = typename Tile::Part;
  constexpr int kWidth = Tile::kWidth, kStep = Tile::kStep;
  const int64_t kv = head / g.shared, end = query + Part::kRows,
                seen = g.causal && end < g.keys ? end : g.keys;
  const auto keys = head_source<T>(g.k, batch, kv, g.keys, g.width),
             values = head_source<T>(g.v, batch, kv, g.keys, g.value_width);
  const auto dy = head_source<T>(b.dy, batch, head, g.length, g.value_width);
  const ScoreRule<false> rule(g, batch, head);
  const DropRule<false> drop(g, batch, head);
  const Part part;
  Tile::Kept::Along::fill(shared, head_source<T>(g.q, batch, head, g.length, g.width), query, 0);
  Tile::Kept::Along::fill(shared + Tile::Kept::kBytes, dy, query, 0);
  float top[2], share[2], mean[2];
  query_statistics<T>(b, dy, batch, head, query + part.row, part.column == 0, top, share, mean);
  FragmentSum<T> slopes[Part::kColumns / 8] = {};
  const auto fill = [&](int i, unsigned char* stage) {
    Tile::Passing::Along::fill(stage, keys, int64_t(i) * kStep, 0);
    Tile::Passing::Along::fill(stage + Tile::Passing::kBytes, values, int64_t(i) * kStep, 0);
  };
  pass_tiles<Tile>(int((seen + kStep - 1) / kStep), shared, fill, [&](int i, unsigned char* stage) {
    FragmentSum<T> scores[kStep / 8] = {}, slope[kStep / 8] = {};
    multiply_along<T, Part::kRows, kStep, kWidth>(scores, shared, part.row, stage);
    multiply_along<T, Part::kRows, kStep, kWidth>(slope, shared + Tile::Kept::kBytes, part.row,
                                                  stage + Tile::Passing::kBytes);
    rule.apply(scores, query + part.row, int64_t(i) * kStep);
    drop.turn_back(slope, drop.template kept<T, kStep / 8>(query + part.row, int64_t(i) * kStep));
#pragma unroll
    for (int j = 0; j < kStep / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        slope[j].v[e] =
            weight_of(scores[j].v[e], top[e / 2], share[e / 2]) * (slope[j].v[e] - mean[e / 2]);
      }
    }
    multiply_across<T, kStep, kWidth, Part::kColumns>(slopes, slope, stage, part.column);
  });
  const float factor[2] = {float(g.scale), float(g.scale)};
  store_head_rows<T, Part::kColumns>(b.dq, batch, head, query + part.row, g.length, g.width,
                                     part.column, slopes, factor);
}

// What dk and dv of a warp's 16 keys are summed in.
template <class T, class Tile> struct KeySlopes {
  FragmentSum<T> keys[Tile::Part::kColumns / 8] = {}, values[Tile::Part::kColumns / 8] = {};
};

// What a step's queries, from `query`, add to the sums of the warp's keys.
template <class T, class Tile>
__device__ __forceinline__ void add_queries(KeySlopes<T, Tile>& sums, const unsigned char* shared,
                                            const unsigned char* stage, const ScoreRule<true>& rule,
                                            const DropRule<true>& drop,
                                            const RowStatistics& statistics, int64_t key,
                                            int64_t query) {
  constexpr int kWidth = Tile::kWidth, kStep = Tile::kStep;
  using Part = typename Tile::Part;
  const int lane = int(threadIdx.x) % 32;
  const Part part;
  FragmentSum<T> weights[kStep / 8] = {}, slope[kStep / 8] = {};
  multiply_along<T, Part::kRows, kStep, kWidth>(weights, shared, part.row, stage);
  multiply_along<T, Part::kRows, kStep, kWidth>(slope, shared + Tile::Kept::kBytes, part.row,
                                                stage + Tile::Passing::kBytes);
  rule.apply(weights, key + part.row, query);
  const uint32_t kept = drop.template kept<T, kStep / 8>(key + part.row, query);
  drop.turn_back(slope, kept);
#pragma unroll
  for (int j = 0; j < kStep / 8; ++j) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const int64_t q = query + 8 * j + whole_sum_column<T>(lane, p);
      const float top = statistics.top(q), share = statistics.factor(q),
                  mean = statistics.mean_slope(q);
#pragma unroll
      for (int e = p; e < 4; e += 2) {
        weights[j].v[e] = weight_of(weights[j].v[e], top, share);
        slope[j].v[e] = weights[j].v[e] * (slope[j].v[e] - mean);
      }
    }
  }
  drop.apply(weights, kept);
  multiply_across<T, kStep, kWidth, Part::kColumns>(sums.values, weights,
                                                    stage + Tile::Passing::kBytes, part.column);
  multiply_across<T, kStep, kWidth, Part::kColumns>(sums.keys, slope, stage, part.column);
}

// dk and dv of the tile's keys, from `key`, from all queries of the heads that share them.
template <class T, class Tile>
__device__ void key_slopes(const AttentionBackwardArgs& b, unsigned char* shared, int64_t batch,
                           int64_t kv, int64_t key) {
  const AttentionArgs& g = b.of;
  using Part = typename Tile::Part;
  constexpr int kStep = Tile::kStep;
  const Part part;
  const int64_t first = !g.causal ? 0 : key < g.length ? key / kStep * kStep : g.length;
  const int tiles = int((g.length - first + kStep - 1) / kStep);  // of one head
  KeySlopes<T, Tile> sums;
  Tile::Kept::Along::fill(shared, head_source<T>(g.k, batch, kv, g.keys, g.width), key, 0);
  Tile::Kept::Along::fill(shared + Tile::Kept::kBytes,
                          head_source<T>(g.v, batch, kv, g.keys, g.value_width), key, 0);
  const auto fill = [&](int i, unsigned char* stage) {
    const int64_t head = kv * g.shared + i / tiles, query = first + i % tiles * int64_t(kStep);
    Tile::Passing::Along::fill(stage, head_source<T>(g.q, batch, head, g.length, g.width), query,
                               0);
    Tile::Passing::Along::fill(stage + Tile::Passing::kBytes,
                               head_source<T>(b.dy, batch, head, g.length, g.value_width), query,
                               0);
  };
  pass_tiles<Tile>(int(g.shared) * tiles, shared, fill, [&](int i, unsigned char* stage) {
    const int64_t head = kv * g.shared + i / tiles, query = first + i % tiles * int64_t(kStep);
    add_queries<T, Tile>(sums, shared, stage, ScoreRule<true>(g, batch, head),
                         DropRule<true>(g, batch, head), RowStatistics(b, batch, head), key, query);
  });
  const float scale[2] = {float(g.scale), float(g.scale)}, kept[2] = {g.kept_factor, g.kept_factor};
  store_head_rows<T, Part::kColumns>(b.dk, batch, kv, key + part.row, g.keys, g.width, part.column,
                                     sums.keys, scale);
  store_head_rows<T, Part::kColumns>(b.dv, batch, kv, key + part.row, g.keys, g.value_width,
                                     part.column, sums.values, kept);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kAttentionThreads, 2)
    attention_query_slopes_kernel(AttentionBackwardArgs b) {
  FLAM_DYNAMIC_SHARED(unsigned char, shared);
  constexpr int kRows = BackwardTile<T, kWidth>::Part::kRows;
  const int64_t heads = b.of.heads, blocks = (b.of.length + kRows - 1) / kRows;
  for (int64_t i = blockIdx.x; i < blocks * heads * b.of.batches; i += gridDim.x) {
    const int64_t head = i / blocks;  // the last queries see most keys and come first
    query_slopes<T, BackwardTile<T, kWidth>>(b, shared, head / heads, head % heads,
                                             (blocks - 1 - i % blocks) * kRows);
  }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kAttentionThreads, 2)
    attention_key_slopes_kernel(AttentionBackwardArgs b) {
  FLAM_DYNAMIC_SHARED(unsigned char, shared);
  constexpr int kRows = BackwardTile<T, kWidth>::Part::kRows;
  const int64_t heads = b.of.heads / b.of.shared, blocks = (b.of.keys + kRows - 1) / kRows;
  for (int64_t i = blockIdx.x; i < blocks * heads * b.of.batches; i += gridDim.x) {
    const int64_t head = i / blocks;
    key_slopes<T, BackwardTile<T, kWidth>>(b, shared, head / heads, head % heads,
                                           i % blocks * kRows);
  }
}

}  // namespace flambeau::FLAM_TARGET
