// The loops over rows side by side on the host: those whose terms lie apart, and short ones. Long
// lines are worked on where they lie; others are brought into a tile, as are those of f16, and
// results are brought back.
#pragma once
#include "base/thread_pool.h"
#include "kernels/row/row_tile.h"
#include "kernels/row/row_totals.h"

namespace flambeau::FLAM_TARGET {

// What a tile's rows add to sums over all.
template <class F, class E>
FLAM_FN void add_columns(const F& f, const RowTotals& totals,
                         const HostColumns<Compute<E>, kColumns>& r, int rows, double* sums) {
  using V = Compute<E>;
  const auto term = f.added(r);
  totals.each(sums, [&](int k, double* sum) __attribute__((always_inline)) {
    const int of = r.a.of[k];
    const auto own = r.template row_of<const E>(of < 0 ? k : of);
    V line[kColumns];
    const auto of_line = [&](const auto& at) __attribute__((always_inline)) {
#pragma GCC ivdep
      for (int c = 0; c < kColumns; ++c) line[c] = at(c);
      if constexpr (std::is_same_v<V, float>) {
        return fold_dense(Adding{}, line, rows, 0);
      } else {
        double all = 0;
        for (int c = 0; c < rows; ++c) all += line[c];
        return all;
      }
    };
    for (int64_t t = 0; t < r.n; ++t) {
      sum[t] += of < 0 ? of_line([&](int c) { return V(term(ColumnIndex{t, c})); })
                       : of_line([&](int c) { return V(load(own + ColumnIndex{t, c})); });
    }
  });
}

// By tiles, in which elements of T are E.
template <class F, class T, class E> void row_tiles(const F& f, const RowArgs& a) {
  const int64_t tiles = (a.rows + kColumns - 1) / kColumns;
  const RowTotals totals(a, kColumns);
  const auto work = [&](int64_t begin, int64_t end) __attribute__((flatten)) {
    const Scratch kept(keeps_halves<F> ? size_t(a.n * kColumns) * sizeof(float) : 0);
    double* const sums = adds_rows<F> ? totals.start(begin * kColumns) : nullptr;
    const RowTile<T, E> tile(a);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t row = t * kColumns;
      const int rows = int(a.rows - row < kColumns ? a.rows - row : kColumns);
      tile.read(row, rows);
      HostColumns<Compute<E>, kColumns> r{tile.args, a.n, kept.as<Compute<E>>(), kColumns};
      f(r);
      if constexpr (adds_rows<F>) add_columns<F, E>(f, totals, r, rows, sums);
      tile.write(row, rows);
    }
  };
  parallel_for(tiles,
               adds_rows<F> ? totals.rows_in_block() / kColumns : 16384 / (a.n * kColumns + 16) + 1,
               work);
  if constexpr (adds_rows<F>) totals.join<T>();
}

// Whether neighbouring rows are neighbours in memory, enough of them to be worked on there.
inline bool lies_in_lines(const RowArgs& a) {
  bool dense = a.inner >= kColumns;
  for (int k = 0; k < a.operands; ++k) {
    if (a.data[k] && (a.role[k] == RowRole::row || a.role[k] == RowRole::each))
      dense &= a.stride[k] == a.bytes[k];
  }
  return dense;
}

// Where they lie.
template <class F, class T> void row_lines(const F& f, const RowArgs& a) {
  const auto part = [](int64_t n, int64_t of) { return (n + of - 1) / of; };
  const int64_t even = part(a.inner, part(a.inner, kLongLine));
  const int64_t width = part(even, 16) * 16, lines = part(a.inner, width);
  const auto work = [&](int64_t begin, int64_t end) __attribute__((flatten)) {
    const Scratch kept(keeps_halves<F> ? size_t(a.n * width) * sizeof(float) : 0);
    RowArgs own = a;
    for (int64_t u = begin; u < end; ++u) {
      const int64_t outer = u / lines, first = (u - outer * lines) * width;
      for (int k = 0; k < a.operands; ++k) {
        if (!a.data[k]) continue;
        if (a.role[k] == RowRole::row)
          own.data[k] = a.data[k] + outer * a.far[k] + first * a.stride[k];
        if (a.role[k] == RowRole::each)
          own.data[k] = a.data[k] + (outer * a.inner + first) * a.bytes[k];
      }
      const int columns = int(a.inner - first < width ? a.inner - first : width);
      HostColumns<Compute<T>, kLongLine> r{own, a.n, kept.as<Compute<T>>(), columns};
      f(r);
    }
  };
  parallel_for(a.rows / a.inner * lines, 16384 / (a.n * width + 16) + 1, work);
}

template <template <class> class F, class T> void rows_aside(const RowArgs& a) {
  if constexpr (kWidens<T>) {
    row_tiles<F<float>, T, float>(row_functor<F<float>>(a), a);
  } else if constexpr (adds_rows<F<T>>) {
    row_tiles<F<T>, T, T>(row_functor<F<T>>(a), a);
  } else {
    const auto f = row_functor<F<T>>(a);
    lies_in_lines(a) ? row_lines<F<T>, T>(f, a) : row_tiles<F<T>, T, T>(f, a);
  }
}

}  // namespace flambeau::FLAM_TARGET
