// Folds of floats in double on explicit vectors, for monoids whose step is a formula over any value
// type, `fold(a, x, centre)`.
#pragma once
#include "kernels/fold/wide.h"

namespace flambeau::FLAM_TARGET {

template <class M, class T>
inline constexpr bool kFoldsWide =
    std::is_same_v<T, float> && requires(M m, Wide x) { m.fold(x, x, x); };

// Has the interface of RowFold. Its lanes never are an array that a loop walks: they would live in
// memory, and every row wait for their stores.
template <class M, class W = Wide> struct WideRow {
  static constexpr int kLanes = 8;  // rows of fewer terms take a shorter way
  static constexpr int kGroups = 8, kWidth = W::kLanes;
  W group[kGroups];
  double rest;

  template <class F> static FLAM_FN void each_group(const F& f) {
    [&]<int... G>(std::integer_sequence<int, G...>) __attribute__((always_inline)) {
      (f(std::integral_constant<int, G>{}), ...);
    }(std::make_integer_sequence<int, kGroups>{});
  }

  FLAM_FN explicit WideRow(const M& m) : rest(m.zero()) {
    each_group([&](auto g) { group[g] = W::all(m.zero()); });
  }

  template <class Load, class Fetch>
  FLAM_FN void add(const M& m, int64_t n, double centre, const Load& load, const Fetch& fetch) {
    const W c = W::all(centre);
    int64_t i = 0;
    for (; i + kWidth * kGroups <= n; i += kWidth * kGroups) {
      fetch(i);
      each_group([&](auto g) { group[g] = m.fold(group[g], load(i + kWidth * g), c); });
    }
    if (i + kWidth > n) return;
    each_group([&](auto g) {
      if (i + kWidth * (g + 1) <= n) group[g] = m.fold(group[g], load(i + kWidth * g), c);
    });
  }

  FLAM_FN void add_dense(const M& m, const float* x, int64_t, int64_t n, double centre) {
    add_floats(m, x, n, centre, [](int64_t) {});
  }

  // What a walk comes to is asked for, into the second cache long before, into the first one soon:
  // conversions keep so many operations under way that the processor would not reach that far ahead
  // by itself, and the first cache alone has too few requests open to hide the third one's time.
  FLAM_FN void add_ahead(const M& m, const float* x, int64_t n, double centre) {
    constexpr int kSoon = 256, kLater = 1536, kLine = 16;
    // Always inlined: gcc takes a function that only asks for memory for one without an effect.
    add_floats(m, x, n, centre, [&](int64_t i) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int k = 0; k < kWidth * kGroups; k += kLine) {
        __builtin_prefetch(x + i + kSoon + k);
        __builtin_prefetch(x + i + kLater + k, 0, 2);
      }
    });
  }

  template <class Fetch>
  FLAM_FN void add_floats(const M& m, const float* x, int64_t n, double centre,
                          const Fetch& fetch) {
    add(m, n, centre, [&](int64_t i) { return W::load(x + i); }, fetch);
    const int64_t whole = n & ~int64_t(kWidth - 1);
    if constexpr (requires { W::load_part(x, 0); }) {  // whole vectors leave the last group free
      W& last = group[kGroups - 1];
      const int left = int(n - whole);
      if (left) last = m.fold(last, W::load_part(x + whole, left), W::all(centre)).part(left, last);
    } else {
      for (int64_t i = whole; i < n; ++i) rest = m.fold(rest, double(x[i]), centre);
    }
  }

  FLAM_FN void add_strided(const M& m, const char* p, int64_t stride, int64_t, int64_t n,
                           double centre) {
    add(m, n, centre, [&](int64_t i) { return W::load(p + i * stride, stride); }, [](int64_t) {});
    for (int64_t i = n & ~int64_t(kWidth - 1); i < n; ++i) {
      rest = m.fold(rest, double(*reinterpret_cast<const float*>(p + i * stride)), centre);
    }
  }

  FLAM_FN double total(const M& m, int64_t) {
    const auto four = [&](int g) __attribute__((always_inline)) {
      return m.join(m.join(group[g], group[g + 1]), m.join(group[g + 2], group[g + 3]));
    };
    double lane[kWidth];
    m.join(four(0), four(4)).store(lane);
    const auto at = [&](int l) __attribute__((always_inline)) {
      return kWidth == 4 ? lane[l] : m.join(lane[l], lane[l + kWidth - 4]);
    };
    return m.join(m.join(m.join(at(0), at(2)), m.join(at(1), at(3))), rest);
  }
};

// The n terms of rows that lie side by side.
template <int Rows, class M>
FLAM_FN void fold_turned_wide(const M& m, const float (*turned)[Rows], int n, const double* centre,
                              double* acc) {
  with_wide([&](auto tag) __attribute__((always_inline)) {
    using W = typename decltype(tag)::type;
    constexpr int lanes = W::kLanes, groups = Rows / lanes;
    W a[groups], from[groups];
    for (int g = 0; g < groups; ++g) {
      a[g] = W::all(m.zero());
      from[g] = W::load(centre + lanes * g);
    }
    for (int i = 0; i < n; ++i) {
      for (int g = 0; g < groups; ++g) a[g] = m.fold(a[g], W::load(turned[i] + lanes * g), from[g]);
    }
    for (int g = 0; g < groups; ++g) a[g].store(acc + lanes * g);
  });
}

// `Groups` vectors of neighbouring outputs: what a processor has to wait for in one, another fills.
template <class W, int Rows, int Groups, class M>
FLAM_FN void fold_line_groups(const M& m, const char* p, int64_t stride, const double* centre,
                              double* acc) {
  constexpr int lanes = W::kLanes;
  W a[Groups], from[Groups];
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g) {
    a[g] = W::load(acc + lanes * g);
    from[g] = M::centred ? W::load(centre + lanes * g) : W::all(0);
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r, p += stride) {
#pragma GCC unroll 4
    for (int g = 0; g < Groups; ++g)
      a[g] = m.fold(a[g], W::load(reinterpret_cast<const float*>(p) + lanes * g), from[g]);
  }
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g) a[g].store(acc + lanes * g);
}

// `Rows` rows of neighbouring outputs into their accumulators; those behind them are fetched.
template <int Rows, bool Ahead = false, class M>
FLAM_FN void fold_lines(const M& m, const char* p, int64_t stride, int64_t width,
                        const double* centre, double* __restrict acc) {
  int64_t c = 0;
  const auto from = [&] { return M::centred ? centre + c : centre; };
  const auto step = [&]<class W, int Groups, int Fetched>() __attribute__((always_inline)) {
    constexpr int columns = W::kLanes * Groups;
    for (; c + columns <= width; c += columns, p += columns * sizeof(float)) {
      for (int r = 0; r < Fetched; ++r) __builtin_prefetch(p + (Rows + r) * stride, 0, 2);
      fold_line_groups<W, Rows, Groups>(m, p, stride, from(), acc + c);
    }
  };
  constexpr int groups = 4, fetched = Ahead ? Rows : 0;
  with_wide([&](auto tag) __attribute__((always_inline)) {
    step.template operator()<typename decltype(tag)::type, groups, fetched>();
  });
  step.template operator()<Wide, 1, 0>();
  for (; c < width; ++c, p += sizeof(float)) {
    for (int r = 0; r < Rows; ++r) {
      const double x = *reinterpret_cast<const float*>(p + r * stride);
      acc[c] = m.fold(acc[c], x, M::centred ? centre[c] : 0);
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
