// Attention of a few queries, as each step of decoding has it: keys and values come from memory
// once and are used where they lie, for packing them would cost more than the products do. Scores
// are dot products with the keys, and values are summed row by row, in pieces of the keys that are
// as long for every number of threads. Several queries take some rows together, while the
// first-level cache has them; of a half type these are widened for all. That changes no bit.
#pragma once
#include <algorithm>

#include "kernels/attention/attention_head.h"
#include "kernels/gemm/gemm_packed.h"
#include "kernels/gemm/gemm_sums.h"
#include "kernels/gemm/gemm_vector_product.h"
#include "kernels/math_below.h"

namespace flambeau::FLAM_TARGET {

// Rows of weights times rows of values.
template <class T> struct WeightedRows {
  using V = Compute<T>;
  const V* weights;
  int64_t weights_row;
  const T* values;
  int64_t values_row, keys;
  V* out;
  int64_t out_row;
};

// out goes on with the sums of Vectors * lanes columns, of which the last vector has `last`.
template <class T, int Rows, int Vectors> void mix_columns(const WeightedRows<T>& g, int last) {
  using V = Compute<T>;
  constexpr int lanes = kLanes<V>;
  Vector<V> sums[Rows][Vectors];
  const auto sums_at = [&](int i, int j) { return g.out + i * g.out_row + j * lanes; };
  const auto width = [&](int j) { return j + 1 < Vectors ? lanes : last; };
#pragma GCC unroll 4
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) sums[i][j] = load_part<V>(sums_at(i, j), width(j));
  }
  const auto pass = [&](auto load_last) {
    for (int64_t p = 0; p < g.keys; ++p) {
      const T* row = g.values + p * g.values_row;
      Vector<V> y[Vectors];
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j)
        y[j] = j + 1 < Vectors ? load_wide(row + j * lanes) : load_last(row + j * lanes);
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) {
        const Vector<V> w = splat(g.weights[i * g.weights_row + p]);
#pragma GCC unroll 8
        for (int j = 0; j < Vectors; ++j) sums[i][j] = multiply_add<V>(w, y[j], sums[i][j]);
      }
    }
  };
  if (last == lanes) {
    pass([](const T* p) { return load_wide(p); });
  } else {
    pass([&](const T* p) { return load_part_as(p, last); });
  }
#pragma GCC unroll 4
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) store_part<V>(sums_at(i, j), sums[i][j], width(j));
  }
}

// As many columns at once as registers hold sums for: of few rows, a whole row of most heads.
template <class T, int Rows> void mix_rows(WeightedRows<T> g, int64_t width) {
  using V = Compute<T>;
  constexpr int lanes = kLanes<V>, vectors = Rows == 4 ? 3 : 8 / Rows;
  const auto take = [&]<int Vectors>(int64_t columns) {
    mix_columns<T, Rows, Vectors>(g, int(columns - (Vectors - 1) * lanes));
    width -= columns;
    g.values += columns;
    g.out += columns;
  };
  while (width >= vectors * lanes) take.template operator()<vectors>(vectors * lanes);
  if constexpr (vectors > 4) {
    if (width >= 4 * lanes) take.template operator()<4>(4 * lanes);
  }
  if constexpr (vectors > 2) {
    if (width >= 2 * lanes) take.template operator()<2>(2 * lanes);
  }
  if (width >= lanes) take.template operator()<1>(lanes);
  if (width > 0) take.template operator()<1>(width);
}

// A row of scores to weights, and their sum.
template <class V> struct RowWeighing {
  static constexpr int kSide = kLanes<V>;  // neighbours that are compared, and sum, apart
  static constexpr V kLeast = -V(__builtin_huge_val());
  V* scores;
  int64_t keys;
  V scale;
  const V* mask;  // null: none
  int64_t mask_step;

  // Sums of a few terms in V, those of many of them in double.
  double run() const {
    scale_all();
    const V top = most();
    V* __restrict const x = scores;
#pragma GCC ivdep
    for (int64_t p = 0; p < keys; ++p) x[p] = exp_below(V(x[p] - top));
    double sum = 0;
    constexpr int64_t few = 32 * kSide;
    for (int64_t first = 0; first < keys; first += few)
      sum += sum_of_few(scores + first, std::min(few, keys - first));
    return sum;
  }

 private:
  void scale_all() const {
    V* __restrict const x = scores;
    const V* __restrict const added = mask;
    const V factor = scale;
    if (!mask) {
      for (int64_t p = 0; p < keys; ++p) x[p] *= factor;
    } else if (mask_step == 1) {
#pragma GCC ivdep
      for (int64_t p = 0; p < keys; ++p) x[p] = x[p] * factor + added[p];
    } else {
      for (int64_t p = 0; p < keys; ++p) x[p] = x[p] * factor + added[p * mask_step];
    }
  }

  V most() const {
    Vector<V> side = splat(kLeast);
    int64_t p = 0;
    for (; p + kSide <= keys; p += kSide) {
      const Vector<V> x = load_vector(scores + p);
      side = x > side ? x : side;
    }
    V top = kLeast;
    for (; p < keys; ++p) top = scores[p] > top ? scores[p] : top;
    for (int l = 0; l < kSide; ++l) top = side[l] > top ? side[l] : top;
    return top == kLeast ? V(0) : top;
  }

  static double sum_of_few(const V* x, int64_t n) {
    Vector<V> side{};
    int64_t p = 0;
    for (; p + kSide <= n; p += kSide) side += load_vector(x + p);
    double sum = double(sum_of<V>(side));
    for (; p < n; ++p) sum += double(x[p]);
    return sum;
  }
};

// Scores of one query and `keys` keys, as many at once as fill a vector with their sums.
template <class T, bool Pairs>
void score_keys(const T* q, const T* k, int64_t k_row, int64_t width, int64_t keys,
                Compute<T>* scores) {
  using V = Compute<T>;
  using Step = DotStep<T, Pairs>;
  constexpr int lanes = kLanes<V>;
  int64_t key = 0;
  for (; key + lanes <= keys; key += lanes, k += lanes * k_row) {
    Vector<V> sums[lanes] = {};
    int64_t p = 0;
    for (; p + Step::kCount <= width; p += Step::kCount) {
      const auto x = Step::load(q + p);
#pragma GCC unroll 16
      for (int j = 0; j < lanes; ++j)
        sums[j] = Step::add(x, Step::load(k + j * k_row + p), sums[j]);
    }
    if (const int n = int(width - p); n > 0) {
      const auto x = Step::load_part(q + p, n);
#pragma GCC unroll 16
      for (int j = 0; j < lanes; ++j)
        sums[j] = Step::add(x, Step::load_part(k + j * k_row + p, n), sums[j]);
    }
    store_vector<V>(scores + key, sums_of<V>(sums));
  }
  for (; key < keys; ++key, k += k_row)
    dot_columns<T, Pairs, 1, 1>({width, q, 0, k, k_row}, scores + key);
}

template <class T> class FewQueries {
  using V = Compute<T>;
  static constexpr int64_t kMost = 8, kPiece = 1024;  // queries; keys whose values are one chain
  // Queries from which on widened rows pay, unless loads convert as cheaply as they load.
  static constexpr int64_t kShares = 4;
  static constexpr bool kWidens =
      !std::is_same_v<T, V> && !(std::is_same_v<T, Half> && FLAM_ISA_RANK > 0);

 public:
  static bool suits(const AttentionArgs& g) {
    return g.length <= kMost && g.q.col == 1 && g.k.col == 1 && g.v.col == 1;
  }

  explicit FewQueries(const AttentionArgs& args)
      : g_(args),
        pitch_((seen_by(g_.length) + 15) / 16 * 16),
        widens_(kWidens && g_.length >= kShares),
        row_(packed_columns<V>(std::max({int64_t{1}, g_.width, g_.value_width}))),
        rows_(g_.length == 1 ? kPiece : near_rows(row_ * int64_t(sizeof(V)))),
        scores_(size_t(g_.length * pitch_) * sizeof(V)),
        mixed_(size_t(2 * g_.length * g_.value_width) * sizeof(V)),
        wide_(widens_ ? size_t((g_.length + rows_) * row_) * sizeof(V) : 0) {}

  void run(int64_t batch, int64_t head) const {
    const int64_t seen = seen_by(g_.length), kv = head / g_.shared;
    const HeadView<T> q(g_.q, batch, head), k(g_.k, batch, kv), v(g_.v, batch, kv);
    V* const scores = scores_.template as<V>();
    score(q, k, seen, scores);
    double sums[kMost];
    for (int64_t i = 0; i < g_.length; ++i) sums[i] = weigh(batch, head, i, scores + i * pitch_);
    V *const mixed = mixed_.template as<V>(), *const piece = mixed + g_.length * g_.value_width;
    std::fill(mixed, piece, V(0));
    for (int64_t p = 0; p < seen; p += kPiece) {
      std::fill(piece, piece + (piece - mixed), V(0));
      mix_piece(scores + p, v.data + p * v.row, v.row, std::min(kPiece, seen - p), piece);
      for (int64_t i = 0; i < piece - mixed; ++i) mixed[i] += piece[i];
    }
    give_rows<T>(g_, batch, head, 0, g_.length, mixed, sums);
  }

 private:
  // By the first n queries.
  int64_t seen_by(int64_t n) const { return g_.causal ? std::min(n, g_.keys) : g_.keys; }

  // Of so many bytes, that the first-level cache keeps.
  static int64_t near_rows(int64_t bytes) {
    constexpr int64_t near = 1 << 14, step = 16;  // a multiple of every vector's lanes
    return std::clamp(near / bytes / step * step, step, kPiece);
  }

  // Rows of keys or values, or of queries, in the arithmetic type.
  void widen(const T* from, int64_t from_row, int64_t rows, int64_t width, V* to) const {
    pack_strip<T>(to, row_, {from, 1, from_row}, rows, int(width), int(packed_columns<V>(width)));
  }

  void score(const HeadView<T>& q, const HeadView<T>& k, int64_t seen, V* scores) const {
    if constexpr (std::is_same_v<T, BFloat16> && FLAM_ISA_RANK == 2) {
      if (isa_rank() >= kIsaPairs) {
        for (int64_t i = 0; i < g_.length; ++i)
          score_keys<T, true>(q.data + i * q.row, k.data, k.row, g_.width, seen,
                              scores + i * pitch_);
        return;
      }
    }
    V *const queries = wide_.template as<V>(), *const keys = queries + g_.length * row_;
    if (widens_) widen(q.data, q.row, g_.length, g_.width, queries);
    for (int64_t p = 0; p < seen; p += rows_) {
      const int64_t n = std::min(rows_, seen - p);
      const T* const from = k.data + p * k.row;
      if (widens_) widen(from, k.row, n, g_.width, keys);
      for (int64_t i = 0; i < g_.length; ++i) {
        V* const to = scores + i * pitch_ + p;
        if (widens_) {
          score_keys<V, false>(queries + i * row_, keys, row_, g_.width, n, to);
        } else {
          score_keys<T, false>(q.data + i * q.row, from, k.row, g_.width, n, to);
        }
      }
    }
  }

  double weigh(int64_t batch, int64_t head, int64_t query, V* scores) const {
    RowWeighing<V> row{scores, seen_by(query + 1), V(g_.scale), nullptr, 0};
    if (g_.mask.data) {
      const HeadView<V> added(g_.mask, batch, head);
      row.mask = added.data + query * added.row;
      row.mask_step = added.col;
    }
    std::fill(scores + row.keys, scores + seen_by(g_.length), V(0));
    return row.run();
  }

  void mix_piece(const V* weights, const T* values, int64_t row, int64_t keys, V* out) const {
    V* const wide = wide_.template as<V>();
    for (int64_t p = 0; p < keys; p += rows_) {
      const int64_t n = std::min(rows_, keys - p);
      const T* const from = values + p * row;
      if (widens_) {
        widen(from, row, n, g_.value_width, wide);
        mix<V>({weights + p, pitch_, wide, row_, n, out, g_.value_width});
      } else {
        mix<T>({weights + p, pitch_, from, row, n, out, g_.value_width});
      }
    }
  }

  template <class R> void mix(WeightedRows<R> g) const {
    int64_t left = g_.length;
    const auto take = [&](int64_t rows) {
      g.weights += rows * g.weights_row;
      g.out += rows * g.out_row;
      left -= rows;
    };
    for (; left >= 4; take(4)) mix_rows<R, 4>(g, g_.value_width);
    for (; left >= 2; take(2)) mix_rows<R, 2>(g, g_.value_width);
    if (left > 0) mix_rows<R, 1>(g, g_.value_width);
  }

  const AttentionArgs& g_;
  const int64_t pitch_;
  const bool widens_;
  const int64_t row_, rows_;  // elements of a widened row, and how many rows
  const Scratch scores_, mixed_, wide_;
};

template <class T> void attend_few(const AttentionArgs& g) {
  const int64_t work = g.length * g.keys * (g.width + g.value_width) + 1;
  parallel_for(g.batches * g.heads, 1 + (1 << 16) / work, [&](int64_t i, int64_t end) {
    const FewQueries<T> task(g);
    for (; i < end; ++i) task.run(i / g.heads, i % g.heads);
  });
}

}  // namespace flambeau::FLAM_TARGET
