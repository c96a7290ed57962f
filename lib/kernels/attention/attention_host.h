// Attention of one head by blocks of queries: scores with all their keys, softmax, weighted sum.
// Scores lie key by key, the queries of a block side by side: so a softmax is arithmetic between
// vectors, without sums inside of one, and its weights are where the next product reads them.
// Products of bfloat16 take the processor's own instructions for the scores; weights stay in the
// arithmetic type, and 1 / sum is applied to the result.
#pragma once
#include "kernels/attention/attention_few.h"
#include "kernels/attention/attention_weights.h"
#include "kernels/gemm/gemm_packed.h"
#include "kernels/gemm/gemm_tile.h"

namespace flambeau::FLAM_TARGET {

// Scores of a block, which the second-level cache holds, and queries of a task, which packs keys
// and values for itself. Causal blocks are short, for all their queries go through the keys of the
// last.
inline constexpr int64_t kScores = 1 << 15, kTaskQueries = 256, kBlockQueries = 128,
                         kCausalQueries = 32;

// Keys are the rows of the scores' product, queries its columns, `depth` steps deep.
template <class T, class Rows, class Columns> class HeadTask {
  using C = typename Rows::C;
  using V = Compute<T>;

 public:
  HeadTask(const AttentionArgs& args, int64_t depth, int64_t block)
      : g_(args),
        depth_(depth),
        block_(block),
        keys_(size_t(packed_rows<C>(g_.keys) * depth) * sizeof(C)),
        queries_(size_t(packed_columns<C>(block) * depth) * sizeof(C)),
        values_(size_t(packed_columns<V>(g_.value_width) * g_.keys) * sizeof(V)),
        scores_(size_t(padded(block) * g_.keys) * sizeof(V)),
        mask_(g_.mask.data ? size_t(padded(block) * g_.keys) * sizeof(V) : 0),
        mixed_(size_t(block * g_.value_width) * sizeof(V)),
        stats_(size_t(padded(block)) * (2 * sizeof(V) + sizeof(double))) {}

  template <class View>
  void run(int64_t batch, int64_t head, int64_t from, int64_t end, const View& view) {
    const int64_t seen = g_.causal ? std::min(end, g_.keys) : g_.keys;
    pack({batch, head / g_.shared, seen}, view);
    for (; from < end; from += block_) {
      const int64_t n = std::min(block_, end - from);
      HeadView<T> q(g_.q, batch, head);
      q.data += from * q.row;
      pack_columns(queries_.template as<C>(), Columns{view(q)}, n, depth_);
      attend(batch, head, from, n, seen);
    }
  }

 private:
  struct Packed {
    int64_t batch, kv, seen;
    bool operator==(const Packed&) const = default;
  };

  static int64_t padded(int64_t n) { return packed_columns<C>(packed_columns<V>(n)); }

  // Keys and values, unless they are those of the head before.
  template <class View> void pack(const Packed& now, const View& view) {
    if (now == packed_) return;
    const HeadView<T> k(g_.k, now.batch, now.kv), v(g_.v, now.batch, now.kv);
    pack_rows(keys_.template as<C>(), Rows{view(k)}, now.seen, depth_);
    pack_columns(values_.template as<V>(), MatrixSource<T>{v.data, v.col, v.row}, g_.value_width,
                 now.seen);
    packed_ = now;
  }

  void attend(int64_t batch, int64_t head, int64_t from, int64_t n, int64_t packed) const {
    const int64_t seen = g_.causal ? std::min(from + n, g_.keys) : g_.keys, pitch = padded(n);
    V* const scores = scores_.template as<V>();
    multiply_packed<C>({seen, pitch, depth_, keys_.template as<C>(), packed, 0,
                        queries_.template as<C>(), depth_, scores, pitch});
    V* mask = nullptr;
    if (g_.mask.data) {
      mask = mask_.template as<V>();
      const HeadView<V> added(g_.mask, batch, head);
      pack_strip<V>(mask, pitch, {added.data + from * added.row, added.row, added.col}, seen,
                    int(n), int(pitch));
    }
    double* const sum = stats_.template as<double>();
    V* const top = reinterpret_cast<V*>(sum + pitch);
    Weighing<V>{scores, seen,        int(pitch), mask, V(g_.scale), g_.causal ? from : g_.keys,
                top,    top + pitch, sum}
        .run();
    V* const mixed = mixed_.template as<V>();
    multiply_packed<V>({n, g_.value_width, seen, scores, 0, pitch, values_.template as<V>(), packed,
                        mixed, g_.value_width});
    give_rows<T>(g_, batch, head, from, n, mixed, sum);
  }

  const AttentionArgs& g_;
  const int64_t depth_, block_;
  const Scratch keys_, queries_, values_, scores_, mask_, mixed_, stats_;
  Packed packed_{-1, -1, -1};
};

template <class T, class Rows, class Columns, class View>
void attend_heads(const AttentionArgs& g, int64_t depth, const View& view) {
  const int64_t fitting = std::clamp(kScores / g.keys / kCausalQueries * kCausalQueries,
                                     kCausalQueries, g.causal ? kCausalQueries : kBlockQueries);
  const int64_t block = std::min(fitting, g.length);
  const int64_t chunks = (g.length + kTaskQueries - 1) / kTaskQueries,
                kv_heads = g.heads / g.shared, groups = g.batches * kv_heads * chunks;
  const int64_t work = std::min(kTaskQueries, g.length) * g.keys * (g.width + g.value_width) + 1;
  // Heads that share keys follow one another, in one task where there are groups for all threads.
  const int64_t together = groups >= 2 * get_num_threads() ? g.shared : 1;
  const int64_t grain = together * (1 + (1 << 18) / (work * together));
  parallel_for(groups * g.shared, grain, [&](int64_t i, int64_t end) {
    HeadTask<T, Rows, Columns> task(g, depth, block);
    for (; i < end; ++i) {
      const int64_t group = i / g.shared, from = group % chunks * kTaskQueries, kv = group / chunks,
                    head = kv % kv_heads * g.shared + i % g.shared;
      task.run(kv / kv_heads, head, from, std::min(from + kTaskQueries, g.length), view);
    }
  });
}

template <class T> void attention_entry(void*, const void* p) {
  const AttentionArgs& g = *static_cast<const AttentionArgs*>(p);
  if (FewQueries<T>::suits(g)) return attend_few<T>(g);
#if FLAM_ISA_RANK == 2
  if constexpr (std::is_same_v<T, BFloat16>) {
    const auto halves = [&](const HeadView<T>& v) {
      return HalvesView{reinterpret_cast<const uint16_t*>(v.data), v.row, v.col, g.width};
    };
    using Tiles = TilePair<AmxTiles>;
    if (isa_rank() >= kIsaTiles)
      return attend_heads<T, TileRows<AmxTiles>, PairSource<Tiles>>(g, tile_depth(g.width), halves);
    if (isa_rank() >= kIsaPairs)
      return attend_heads<T, PairSource<DotPair>, PairSource<DotPair>>(g, (g.width + 1) / 2,
                                                                       halves);
  }
#endif
  using Source = MatrixSource<T>;
  attend_heads<T, Source, Source>(
      g, g.width, [](const HeadView<T>& v) { return Source{v.data, v.row, v.col}; });
}

}  // namespace flambeau::FLAM_TARGET
