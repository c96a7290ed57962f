// A row on the host: one thread walks it and vectorises inside it. Terms computed in float are
// added by fours in it and these sums in double; where that leaves float's range, all in double.
#pragma once
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/fold/fold_wide.h"
#include "kernels/row/row_value.h"

namespace flambeau::FLAM_TARGET {

struct Adding {
  static constexpr bool centred = false;
  FLAM_FN double zero() const { return 0; }
  template <class A> FLAM_FN A fold(A a, A x, A) const { return a + x; }
  template <class A> FLAM_FN A join(A a, A b) const { return a + b; }
};
struct AddingSquares : Adding {
  template <class A> FLAM_FN A fold(A a, A x, A centre) const {
    const A d = x - centre;
    return a + d * d;
  }
};

template <class M>
FLAM_FN double fold_dense(const M& m, const float* x, int64_t n, double centre) {
  return with_wide([&](auto tag) __attribute__((always_inline)) {
    WideRow<M, typename decltype(tag)::type> row(m);
    row.add_dense(m, x, 0, n, centre);
    return row.total(m, n);
  });
}

template <class F> inline constexpr bool keeps_halves = requires { requires F::keeps_halves; };

template <class F> F row_functor(const RowArgs& a) {
  F f{};
  if constexpr (!std::is_empty_v<F>) memcpy(static_cast<void*>(&f), a.params, sizeof f);
  return f;
}

template <class V> struct HostRow : RowPlace {
  using Wide = double;  // what distances from a mean are formed in
  static constexpr int kLanes = (64 << FLAM_ISA_RANK) / 8;
  static constexpr int64_t kPiece = 64;
  template <class T> static constexpr bool keeps = true;
  // A quarter of the terms is converted, so that each processor takes the widest vectors: one loop.
  using PieceRow = WideRow<Adding, Widest>;
  V* memory;  // of a row, for functors that keep halves in it

  template <class T> FLAM_FN RowElements<V> keep(RowElements<T> y) const {
    if constexpr (std::is_same_v<T, V>) return y;
    if constexpr (!std::is_same_v<T, V>) return {memory};
  }

  template <class F> FLAM_FN auto value(const F& f) const { return same_value(f(int64_t(0))); }
  template <class F> FLAM_FN void for_rows(const F& f) const { f(int64_t(0)); }
  template <class T, class F> FLAM_FN void put(int k, const F& f) const {
    if (a.data[k]) *place<T>(k) = T(f(int64_t(0)));
  }

  template <class F> FLAM_FN void each(const F& f) const {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) f(i);
  }

  template <class F> FLAM_FN SameValue<double> sum(const F& f) const {
    if constexpr (FLAM_ISA_RANK > 0 && std::is_same_v<decltype(f(int64_t(0))), float>) {
      const double total = sum_of_floats(f);
      return {is_finite(total) ? total : sum_on_lanes(f)};
    } else {
      return {sum_on_lanes(f)};
    }
  }

  template <class F, class G>
  FLAM_FN TwoSums<SameValue<double>> sums(const F& f, const G& g) const {
    if constexpr (FLAM_ISA_RANK > 0 && std::is_same_v<decltype(f(int64_t(0))), float>) {
      PieceRow first(Adding{}), second(Adding{});
      each_piece([&](int64_t i, int64_t terms) __attribute__((always_inline)) {
        add_piece(f, i, terms, first);
        add_piece(g, i, terms, second);
      });
      const double one = first.total(Adding{}, n), other = second.total(Adding{}, n);
      return {{is_finite(one) ? one : sum_on_lanes(f)},
              {is_finite(other) ? other : sum_on_lanes(g)}};
    } else {
      return {sum(f), sum(g)};
    }
  }

  template <class T> FLAM_FN SameValue<double> sum_of(RowElements<T> x) const {
    if constexpr (FLAM_ISA_RANK > 0 && std::is_same_v<T, const float>) {
      return {fold_dense(Adding{}, x.p, n, 0)};
    } else {
      return sum([&](int64_t i) { return load(x + i); });
    }
  }

  // Of x - centre.
  template <class T>
  FLAM_FN SameValue<double> squares(RowElements<T> x, SameValue<double> centre) const {
    if constexpr (FLAM_ISA_RANK > 0 && std::is_same_v<T, const float>) {
      return {fold_dense(AddingSquares{}, x.p, n, centre.v)};
    } else {
      return {sum_on_lanes([&](int64_t i) {
        const double d = double(load(x + i)) - centre.v;
        return d * d;
      })};
    }
  }

  // In float what double arithmetic would round to, but for a last bit far from the mean: what a
  // float of mean and rstd leaves is added behind.
  template <class X, class F>
  FLAM_FN void each_standard(const X& x, SameValue<double> mean, SameValue<double> rstd,
                             const F& f) const {
#if defined(__FMA__)
    if constexpr (std::is_same_v<V, float>) {
      const float centre = float(mean.v), scale = float(rstd.v);
      if (scale > 0x1p-100f && scale < 0x1p100f) {
        const float rest = float(rstd.v - scale), shift = float((centre - mean.v) * rstd.v);
        return each([&](int64_t i) {
          const float d = load(x + i) - centre;
          f(i, __builtin_fmaf(d, scale, __builtin_fmaf(d, rest, shift)));
        });
      }
    }
#endif
    each([&](int64_t i) { f(i, V((double(load(x + i)) - mean.v) * rstd.v)); });
  }

  template <class F> FLAM_FN SameValue<V> greatest(const F& f) const {
    constexpr int lanes = 2 * kLanes;
    V lane[lanes];
    for (int l = 0; l < lanes; ++l) lane[l] = -V(__builtin_huge_val());
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
#pragma GCC ivdep
      for (int l = 0; l < lanes; ++l) {
        const V x = f(i + l);
        lane[l] = x > lane[l] ? x : lane[l];
      }
    }
    for (int l = 0; i < n; ++i, ++l) {
      const V x = f(i);
      lane[l] = x > lane[l] ? x : lane[l];
    }
    return {greatest_of<lanes>(lane)};
  }

 private:
  static FLAM_FN bool is_finite(double x) { return x - x == 0; }

  template <int N> static FLAM_FN V greatest_of(const V (&lane)[N]) {
    if constexpr (N == 1) {
      return lane[0];
    } else {
      V half[N / 2];
      for (int l = 0; l < N / 2; ++l)
        half[l] = lane[l] > lane[l + N / 2] ? lane[l] : lane[l + N / 2];
      return greatest_of<N / 2>(half);
    }
  }

  // f(i) and on: four terms meet before they become double.
  template <class F>
  FLAM_FN void add_piece(const F& f, int64_t i, int64_t terms, PieceRow& row) const {
    constexpr int64_t lanes = kPiece / 4;
    float piece[kPiece];
    const auto at = [&](int64_t l) __attribute__((always_inline)) { return f(i + l); };
    if (terms == kPiece) {
#pragma GCC ivdep
      for (int64_t l = 0; l < lanes; ++l)
        piece[l] = (at(l) + at(l + lanes)) + (at(l + 2 * lanes) + at(l + 3 * lanes));
      return row.add_dense(Adding{}, piece, 0, lanes, 0);
    }
#pragma GCC ivdep
    for (int64_t l = 0; l < terms; ++l) piece[l] = at(l);
    row.add_dense(Adding{}, piece, 0, terms, 0);
  }

  template <class F> FLAM_FN void each_piece(const F& f) const {
    int64_t i = 0;
    for (; i + kPiece <= n; i += kPiece) f(i, kPiece);
    f(i, n - i);
  }

  template <class F> FLAM_FN double sum_of_floats(const F& f) const {
    PieceRow row(Adding{});
    each_piece([&](int64_t i, int64_t terms)
                   __attribute__((always_inline)) { add_piece(f, i, terms, row); });
    return row.total(Adding{}, n);
  }

  template <class F> FLAM_FN double sum_on_lanes(const F& f) const {
    double lane[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) lane[l] += double(f(i + l));
    }
    for (int l = 0; i < n; ++i, ++l) lane[l] += double(f(i));
    const int used = n < kLanes ? int(n) : kLanes;
    double total = 0;
    for (int l = 0; l < used; ++l) total += lane[l];
    return total;
  }
};

}  // namespace flambeau::FLAM_TARGET
