// Folds of floats in double on explicit vectors, for monoids whose step is a formula over any value
// type, `fold(a, x, centre)`. Four lanes even where registers hold eight: AMD takes twice as long
// for a conversion to eight as for two to four. A sum is a product with one, added: products have
// ports of their own there, where conversions and sums share theirs.
#pragma once
#include "kernels/fold/fold_common.h"
#if FLAM_ISA_RANK > 0
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK > 0

struct Wide {
  __m256d v;

  static FLAM_FN Wide all(double x) { return {_mm256_set1_pd(x)}; }
  static FLAM_FN Wide load(const double* p) { return {_mm256_loadu_pd(p)}; }
  static FLAM_FN Wide load(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p))}; }
  static FLAM_FN Wide load(const char* p, int64_t stride) {
    float x[4];
    for (int l = 0; l < 4; ++l, p += stride) memcpy(&x[l], p, sizeof(float));
    return load(x);
  }
  FLAM_FN void store(double* p) const { _mm256_storeu_pd(p, v); }

  friend FLAM_FN Wide operator+(Wide a, Wide b) {
    return {_mm256_fmadd_pd(b.v, _mm256_set1_pd(1), a.v)};
  }
  friend FLAM_FN Wide operator-(Wide a, Wide b) { return {_mm256_sub_pd(a.v, b.v)}; }
  friend FLAM_FN Wide operator*(Wide a, Wide b) { return {_mm256_mul_pd(a.v, b.v)}; }
};

FLAM_FN Wide plus_product(Wide a, Wide x, Wide y) { return {_mm256_fmadd_pd(x.v, y.v, a.v)}; }
FLAM_FN Wide magnitude(Wide x) { return {_mm256_andnot_pd(_mm256_set1_pd(-0.0), x.v)}; }

#else

struct Wide {
  double v[4];

  template <class F> static FLAM_FN Wide of(const F& f) { return {{f(0), f(1), f(2), f(3)}}; }
  static FLAM_FN Wide all(double x) { return {{x, x, x, x}}; }
  template <class T> static FLAM_FN Wide load(const T* p) {
    return of([&](int l) { return double(p[l]); });
  }
  static FLAM_FN Wide load(const char* p, int64_t stride) {
    return of([&](int l) { return double(*reinterpret_cast<const float*>(p + l * stride)); });
  }
  FLAM_FN void store(double* p) const { memcpy(p, v, sizeof v); }

  friend FLAM_FN Wide operator+(Wide a, Wide b) {
    return of([&](int l) { return a.v[l] + b.v[l]; });
  }
  friend FLAM_FN Wide operator-(Wide a, Wide b) {
    return of([&](int l) { return a.v[l] - b.v[l]; });
  }
  friend FLAM_FN Wide operator*(Wide a, Wide b) {
    return of([&](int l) { return a.v[l] * b.v[l]; });
  }
};
FLAM_FN Wide plus_product(Wide a, Wide x, Wide y) { return a + x * y; }
FLAM_FN Wide magnitude(Wide x) {
  return Wide::of([&](int l) { return __builtin_fabs(x.v[l]); });
}

#endif

template <class M, class T>
inline constexpr bool kFoldsWide =
    std::is_same_v<T, float> && requires(M m, Wide x) { m.fold(x, x, x); };

// Has the interface of RowFold. Its lanes never are an array that a loop walks: they would live in
// memory, and every row wait for their stores.
template <class M> struct WideRow {
  static constexpr int kLanes = 8;  // rows of fewer terms take a shorter way
  static constexpr int kGroups = 8;
  Wide group[kGroups];
  double rest;

  template <class F> static FLAM_FN void each_group(const F& f) {
    [&]<int... G>(std::integer_sequence<int, G...>) __attribute__((always_inline)) {
      (f(std::integral_constant<int, G>{}), ...);
    }(std::make_integer_sequence<int, kGroups>{});
  }

  FLAM_FN explicit WideRow(const M& m) : rest(m.zero()) {
    each_group([&](auto g) { group[g] = Wide::all(m.zero()); });
  }

  template <class Load>
  FLAM_FN void add(const M& m, int64_t n, double centre, const Load& load) {
    const Wide c = Wide::all(centre);
    int64_t i = 0;
    for (; i + 4 * kGroups <= n; i += 4 * kGroups)
      each_group([&](auto g) { group[g] = m.fold(group[g], load(i + 4 * g), c); });
    if (i + 4 > n) return;
    each_group([&](auto g) {
      if (i + 4 * g + 4 <= n) group[g] = m.fold(group[g], load(i + 4 * g), c);
    });
  }

  FLAM_FN void add_dense(const M& m, const float* x, int64_t, int64_t n, double centre) {
    add(m, n, centre, [&](int64_t i) { return Wide::load(x + i); });
    for (int64_t i = n & ~int64_t(3); i < n; ++i) rest = m.fold(rest, double(x[i]), centre);
  }

  FLAM_FN void add_strided(const M& m, const char* p, int64_t stride, int64_t, int64_t n,
                           double centre) {
    add(m, n, centre, [&](int64_t i) { return Wide::load(p + i * stride, stride); });
    for (int64_t i = n & ~int64_t(3); i < n; ++i) {
      rest = m.fold(rest, double(*reinterpret_cast<const float*>(p + i * stride)), centre);
    }
  }

  FLAM_FN double total(const M& m, int64_t) {
    const auto four = [&](int g) __attribute__((always_inline)) {
      return m.join(m.join(group[g], group[g + 1]), m.join(group[g + 2], group[g + 3]));
    };
    double lane[4];
    m.join(four(0), four(4)).store(lane);
    return m.join(m.join(m.join(lane[0], lane[2]), m.join(lane[1], lane[3])), rest);
  }
};

// The n terms of rows that lie side by side.
template <int Rows, class M>
FLAM_FN void fold_turned_wide(const M& m, const float (*turned)[Rows], int n, const double* centre,
                              double* acc) {
  constexpr int groups = Rows / 4;
  Wide a[groups], from[groups];
  for (int g = 0; g < groups; ++g) {
    a[g] = Wide::all(m.zero());
    from[g] = Wide::load(centre + 4 * g);
  }
  for (int i = 0; i < n; ++i) {
    for (int g = 0; g < groups; ++g) a[g] = m.fold(a[g], Wide::load(turned[i] + 4 * g), from[g]);
  }
  for (int g = 0; g < groups; ++g) a[g].store(acc + 4 * g);
}

// `Groups` vectors of neighbouring outputs: what a processor has to wait for in one, another fills.
template <int Rows, int Groups, class M>
FLAM_FN void fold_line_groups(const M& m, const char* p, int64_t stride, const double* centre,
                              double* acc) {
  Wide a[Groups], from[Groups];
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g) {
    a[g] = Wide::load(acc + 4 * g);
    from[g] = M::centred ? Wide::load(centre + 4 * g) : Wide::all(0);
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r, p += stride) {
#pragma GCC unroll 4
    for (int g = 0; g < Groups; ++g)
      a[g] = m.fold(a[g], Wide::load(reinterpret_cast<const float*>(p) + 4 * g), from[g]);
  }
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g) a[g].store(acc + 4 * g);
}

// `Rows` rows of neighbouring outputs into their accumulators; those behind them are fetched.
template <int Rows, bool Ahead = false, class M>
FLAM_FN void fold_lines(const M& m, const char* p, int64_t stride, int64_t width,
                        const double* centre, double* __restrict acc) {
  constexpr int groups = 4;
  int64_t c = 0;
  for (; c + 4 * groups <= width; c += 4 * groups, p += 4 * groups * sizeof(float)) {
    for (int r = 0; Ahead && r < Rows; ++r) __builtin_prefetch(p + (Rows + r) * stride, 0, 2);
    fold_line_groups<Rows, groups>(m, p, stride, M::centred ? centre + c : centre, acc + c);
  }
  for (; c + 4 <= width; c += 4, p += 4 * sizeof(float))
    fold_line_groups<Rows, 1>(m, p, stride, M::centred ? centre + c : centre, acc + c);
  for (; c < width; ++c, p += sizeof(float)) {
    for (int r = 0; r < Rows; ++r) {
      const double x = *reinterpret_cast<const float*>(p + r * stride);
      acc[c] = m.fold(acc[c], x, M::centred ? centre[c] : 0);
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
