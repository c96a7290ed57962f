// The softmax of a block of scores, of which the queries of one key lie side by side: arithmetic
// between neighbours, without sums inside of a vector.
#pragma once
#include <algorithm>

#include "kernels/math_below.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

// In scores, out weights and what to divide them by: `keys` rows of `queries`.
template <class V> struct Weighing {
  V* scores;
  int64_t keys;
  int queries;
  const V* mask;  // as the scores; null: none
  V scale;
  int64_t first_place;  // of a causal one the first query's; others see all keys
  V* top;               // of each query, as are the sums
  V* part;
  double* sum;

  static constexpr V kLeast = -V(__builtin_huge_val());

  // Sums of a few terms in V, those of many of them in double.
  void run() const {
    constexpr int64_t few = 32;
    find_tops();
    for (int j = 0; j < queries; ++j) sum[j] = 0;
    for (int64_t first = 0; first < keys; first += few) {
      for (int j = 0; j < queries; ++j) part[j] = 0;
      const int64_t end = std::min(keys, first + few);
      int64_t p = first;
      for (; p + 2 <= end; p += 2) weigh<2>(p);
      if (p < end) weigh<1>(p);
      for (int j = 0; j < queries; ++j) sum[j] += double(part[j]);
    }
  }

 private:
  void find_tops() const {
    for (int j = 0; j < queries; ++j) top[j] = kLeast;
    int64_t p = 0;
    for (; p + 4 <= keys; p += 4) raise<4>(p);
    for (; p < keys; ++p) raise<1>(p);
    for (int j = 0; j < queries; ++j) top[j] = top[j] == kLeast ? V(0) : top[j];
  }

  template <int Rows> void raise(int64_t p) const {
    V* __restrict const x = scores + p * queries, * __restrict const most = top;
    const int n = queries;
    const V factor = scale;
    if (mask) {
      const V* __restrict const added = mask + p * n;
#pragma GCC ivdep
      for (int j = 0; j < Rows * n; ++j) x[j] = x[j] * factor + added[j];
    } else {
#pragma GCC ivdep
      for (int j = 0; j < Rows * n; ++j) x[j] *= factor;
    }
    for (int r = 0; r < Rows; ++r) {
      const int64_t hidden = std::min<int64_t>(n, p + r - first_place);
      for (int64_t j = 0; j < hidden; ++j) x[r * n + j] = kLeast;
    }
#pragma GCC ivdep
    for (int j = 0; j < n; ++j) {
      V m = most[j];
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) m = x[r * n + j] > m ? x[r * n + j] : m;
      most[j] = m;
    }
  }

  template <int Rows> void weigh(int64_t p) const {
    V* __restrict const x = scores + p * queries, * __restrict const s = part;
    const V* __restrict const most = top;
    const int n = queries;
#pragma GCC ivdep
    for (int j = 0; j < n; ++j) {
      V all = s[j];
#pragma GCC unroll 2
      for (int r = 0; r < Rows; ++r) {
        const V w = exp_below(V(x[r * n + j] - most[j]));
        x[r * n + j] = w;
        all += w;
      }
      s[j] = all;
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
