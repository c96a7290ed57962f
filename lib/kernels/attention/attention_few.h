// Attention of a few queries, as each step of decoding has it: keys and values come from memory
// once and are used where they lie, for packing them would cost more than the products do. Scores
// are dot products with the keys, and values are summed row by row, in pieces of the keys that are
// as long for every number of threads.
#pragma once
#include <algorithm>

#include "kernels/attention/attention_head.h"
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

// out += the sums of Vectors * lanes columns, of which the last vector has `last`.
template <class T, int Rows, int Vectors> void mix_columns(const WeightedRows<T>& g, int last) {
  using V = Compute<T>;
  constexpr int lanes = kLanes<V>;
  Vector<V> sums[Rows][Vectors] = {};
  const auto pass = [&](auto load_last) {
    for (int64_t p = 0; p < g.keys; ++p) {
      const T* row = g.values + p * g.values_row;
      Vector<V> y[Vectors];
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j)
        y[j] = j + 1 < Vectors ? load_as(row + j * lanes) : load_last(row + j * lanes);
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) {
        const Vector<V> w = splat(g.weights[i * g.weights_row + p]);
#pragma GCC unroll 8
        for (int j = 0; j < Vectors; ++j) sums[i][j] = multiply_add<V>(w, y[j], sums[i][j]);
      }
    }
  };
  if (last == lanes) {
    pass([](const T* p) { return load_as(p); });
  } else {
    pass([&](const T* p) { return load_part_as(p, last); });
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Vectors; ++j) {
      V* const to = g.out + i * g.out_row + j * lanes;
      const int n = j + 1 < Vectors ? lanes : last;
      store_part<V>(to, load_part<V>(to, n) + sums[i][j], n);
    }
  }
}

// As many columns at once as registers hold sums for: of few rows, a whole row of most heads.
template <class T, int Rows> void mix_rows(WeightedRows<T> g, int64_t width) {
  using V = Compute<T>;
  constexpr int lanes = kLanes<V>, vectors = 8 / Rows;
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
    transpose<V>(sums);
#pragma GCC unroll 4
    for (int half = lanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int j = 0; j < half; ++j) sums[j] += sums[j + half];
    }
    store_vector<V>(scores + key, sums[0]);
  }
  for (; key < keys; ++key, k += k_row)
    dot_columns<T, Pairs, 1, 1>({width, q, 0, k, k_row}, scores + key);
}

template <class T> class FewQueries {
  using V = Compute<T>;
  static constexpr int64_t kMost = 8, kPiece = 1024;  // queries; keys whose values are one chain

 public:
  static bool suits(const AttentionArgs& g) {
    return g.length <= kMost && g.q.col == 1 && g.k.col == 1 && g.v.col == 1;
  }

  explicit FewQueries(const AttentionArgs& args)
      : g_(args),
        pitch_((seen_by(g_.length) + 15) / 16 * 16),
        scores_(size_t(g_.length * pitch_) * sizeof(V)),
        mixed_(size_t(g_.length * g_.value_width) * sizeof(V)) {}

  void run(int64_t batch, int64_t head) const {
    const int64_t seen = seen_by(g_.length), kv = head / g_.shared;
    const HeadView<T> q(g_.q, batch, head), k(g_.k, batch, kv), v(g_.v, batch, kv);
    V* const scores = scores_.template as<V>();
    for (int64_t i = 0; i < g_.length; ++i) score(q.data + i * q.row, k, seen, scores + i * pitch_);
    double sums[kMost];
    for (int64_t i = 0; i < g_.length; ++i) sums[i] = weigh(batch, head, i, scores + i * pitch_);
    V* const mixed = mixed_.template as<V>();
    std::fill(mixed, mixed + g_.length * g_.value_width, V(0));
    for (int64_t p = 0; p < seen; p += kPiece)
      mix({scores + p, pitch_, v.data + p * v.row, v.row, std::min(kPiece, seen - p), mixed,
           g_.value_width});
    give_rows<T>(g_, batch, head, 0, g_.length, mixed, sums);
  }

 private:
  // By the first n queries.
  int64_t seen_by(int64_t n) const { return g_.causal ? std::min(n, g_.keys) : g_.keys; }

  void score(const T* q, const HeadView<T>& k, int64_t seen, V* scores) const {
    if constexpr (std::is_same_v<T, BFloat16> && FLAM_ISA_RANK == 2) {
      if (isa_rank() >= kIsaPairs)
        return score_keys<T, true>(q, k.data, k.row, g_.width, seen, scores);
    }
    score_keys<T, false>(q, k.data, k.row, g_.width, seen, scores);
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

  void mix(WeightedRows<T> g) const {
    int64_t left = g_.length;
    const auto take = [&](int64_t rows) {
      g.weights += rows * g.weights_row;
      g.out += rows * g.out_row;
      left -= rows;
    };
    for (; left >= 4; take(4)) mix_rows<T, 4>(g, g_.value_width);
    for (; left >= 2; take(2)) mix_rows<T, 2>(g, g_.value_width);
    if (left > 0) mix_rows<T, 1>(g, g_.value_width);
  }

  const AttentionArgs& g_;
  const int64_t pitch_;
  const Scratch scores_, mixed_;
};

template <class T> void attend_few(const AttentionArgs& g) {
  const int64_t work = g.length * g.keys * (g.width + g.value_width) + 1;
  parallel_for(g.batches * g.heads, 1 + (1 << 16) / work, [&](int64_t i, int64_t end) {
    const FewQueries<T> task(g);
    for (; i < end; ++i) task.run(i / g.heads, i % g.heads);
  });
}

}  // namespace flambeau::FLAM_TARGET
