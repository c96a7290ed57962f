// Attention on devices: a block takes some queries, mostly 64, of one head and goes through the
// keys by tiles, with a running maximum and sum of each row, so that no score leaves the registers.
// The tile of values arrives while scores are made, and the next keys while values are summed.
// Causal tiles after the last query are left out. Each row is one sum in the order of its keys.
// Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023).
#pragma once
#include "kernels/attention/attention_drop.h"
#include "kernels/attention/attention_split.h"
#include "kernels/attention/attention_tile.h"

namespace flambeau::FLAM_TARGET {

// Of heads padded to kWidth columns; the wider have smaller tiles.
template <class T, int kPaddedWidth> struct ForwardTile {
  static constexpr int kWidth = kPaddedWidth, kRowBytes = kWidth * int(sizeof(T)),
                       kKeys = kRowBytes > 256 ? 16 : 128 / int(sizeof(T));
  using Part = WarpPart<(kRowBytes > 512 ? 2 : 1), kWidth>;
  using Queries = HeadTile<T, Part::kRows, kWidth>;
  using Keys = HeadTile<T, kKeys, kWidth>;
  static constexpr int kKeysAt = Queries::kBytes, kValuesAt = kKeysAt + Keys::kBytes,
                       kBytes = kValuesAt + Keys::kBytes;
};

// What a lane keeps of its two rows: sums of values, the maximum so far, and its part of the sum of
// weights.
template <class T, int kColumns> struct ForwardRows {
  FragmentSum<T> mixed[kColumns / 8] = {};
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};

  // Scores become weights under the new maximum, what was summed before is brought there.
  template <int kTiles> __device__ __forceinline__ void weigh(FragmentSum<T> (&scores)[kTiles]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      float most = top[u];
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
        most = fmaxf(most, fmaxf(scores[j].v[2 * u], scores[j].v[2 * u + 1]));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
      const float base = most == -INFINITY ? 0 : most, shrink = exp2f(top[u] - base);
      top[u] = most;
      sum[u] *= shrink;
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
#pragma unroll
        for (int e = 2 * u; e < 2 * u + 2; ++e) {
          scores[j].v[e] = exp2f(scores[j].v[e] - base);
          sum[u] += scores[j].v[e];
        }
      }
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n) {
        mixed[n].v[2 * u] *= shrink;
        mixed[n].v[2 * u + 1] *= shrink;
      }
    }
  }

  // The sums of weights of whole rows.
  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      sum[u] += __shfl_xor_sync(0xffffffffu, sum[u], 1);
      sum[u] += __shfl_xor_sync(0xffffffffu, sum[u], 2);
    }
  }
};

// As many queries of one head as the tile has, from `query`, and the split-th part of the keys.
template <class T, class Tile>
__device__ void attend_queries(const AttentionArgs& g, unsigned char* shared, int64_t batch,
                               int64_t head, int64_t query, int64_t split) {
  using Part = typename Tile::Part;
  const int64_t kv = head / g.shared, first = split * g.keys_a_part, last = first + g.keys_a_part,
                end = g.causal && query + Part::kRows < last ? query + Part::kRows : last,
                seen = end < g.keys ? end : g.keys;
  const ScoreRule<false> rule(g, batch, head);
  const DropRule<false> drop(g, batch, head);
  const int lane = int(threadIdx.x) % 32;
  const Part part;
  const auto keys = head_source<T>(g.k, batch, kv, g.keys, g.width);
  const auto values = head_source<T>(g.v, batch, kv, g.keys, g.value_width);
  ForwardRows<T, Part::kColumns> rows;
  Tile::Queries::Along::fill(shared, head_source<T>(g.q, batch, head, g.length, g.width), query, 0);
  Tile::Keys::Along::fill(shared + Tile::kKeysAt, keys, first, 0);
  commit_copies();
  for (int64_t key = first; key < seen; key += Tile::kKeys) {
    wait_copies<0>();
    __syncthreads();  // the keys are there, and the values before have been read by all
    Tile::Keys::Along::fill(shared + Tile::kValuesAt, values, key, 0);
    commit_copies();
    FragmentSum<T> scores[Tile::kKeys / 8] = {};
    multiply_along<T, Part::kRows, Tile::kKeys, Tile::kWidth>(scores, shared, part.row,
                                                              shared + Tile::kKeysAt);
    rule.apply(scores, query + part.row, key);
    const uint32_t kept = drop.template kept<T, Tile::kKeys / 8>(query + part.row, key);
    wait_copies<0>();
    __syncthreads();  // the values are there, and the keys have been read by all
    if (key + Tile::kKeys < seen)
      Tile::Keys::Along::fill(shared + Tile::kKeysAt, keys, key + Tile::kKeys, 0);
    commit_copies();
    rows.weigh(scores);
    drop.apply(scores, kept);
    multiply_across<T, Tile::kKeys, Tile::kWidth, Part::kColumns>(
        rows.mixed, scores, shared + Tile::kValuesAt, part.column);
  }
  rows.finish();
  if (g.parts) return store_split<T>(g, rows, part, batch, head, query, split);
  const float share[2] = {rows.sum[0] == 0 ? 0 : 1 / rows.sum[0],
                          rows.sum[1] == 0 ? 0 : 1 / rows.sum[1]};
  const float factor[2] = {share[0] * g.kept_factor, share[1] * g.kept_factor};
  store_head_rows<T, Part::kColumns>(g.out, batch, head, query + part.row, g.length, g.value_width,
                                     part.column, rows.mixed, factor);
  if (!g.statistics || part.column > 0 || lane % 4 != 0) return;
  for (int u = 0; u < 2; ++u) {
    const int64_t at = query + part.row + sum_row(lane, 2 * u);
    if (at >= g.length) continue;
    // A row that sees no key has weights of 0 backward, too.
    float* const kept = g.statistics + ((batch * g.heads + head) * g.length + at) * 2;
    kept[0] = rows.sum[u] == 0 ? 0 : rows.top[u];
    kept[1] = share[u];
  }
}

// Blocks of one head follow each other, the last queries, which see most keys, first.
template <class T, int kWidth>
__global__ void __launch_bounds__(kAttentionThreads, 2) attention_forward_kernel(AttentionArgs g) {
  FLAM_DYNAMIC_SHARED(unsigned char, shared);
  constexpr int kRows = ForwardTile<T, kWidth>::Part::kRows;
  const int64_t blocks = (g.length + kRows - 1) / kRows;
  for (int64_t i = blockIdx.x; i < blocks * g.heads * g.batches * g.splits; i += gridDim.x) {
    const int64_t at = i / g.splits, head = at / blocks;
    attend_queries<T, ForwardTile<T, kWidth>>(g, shared, head / g.heads, head % g.heads,
                                              (blocks - 1 - at % blocks) * kRows, i % g.splits);
    __syncthreads();
  }
}

template <class T, int kWidth> void launch_attention_forward(void* stream, const AttentionArgs& g) {
  constexpr int kRows = ForwardTile<T, kWidth>::Part::kRows;
  const int64_t blocks = (g.length + kRows - 1) / kRows * g.heads * g.batches * g.splits;
  static_assert(ForwardTile<T, kWidth>::kBytes <= kMostShared);
  FLAM_LAUNCH((attention_forward_kernel<T, kWidth>),
              dim3(unsigned(blocks < (1 << 30) ? blocks : 1 << 30)), dim3(kAttentionThreads),
              (ForwardTile<T, kWidth>::kBytes), stream, g);
  if (g.parts) launch_attention_join<T>(stream, g);
}

template <class T> void attention_entry(void* stream, const void* p) {
  const AttentionArgs& g = *static_cast<const AttentionArgs*>(p);
  const int64_t width = g.width > g.value_width ? g.width : g.value_width;
  if (width <= 32) return launch_attention_forward<T, 32>(stream, g);
  if (width <= 64) return launch_attention_forward<T, 64>(stream, g);
  if (width <= 128) return launch_attention_forward<T, 128>(stream, g);
  launch_attention_forward<T, 256>(stream, g);
}

}  // namespace flambeau::FLAM_TARGET
