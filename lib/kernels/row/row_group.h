// The threads of a GPU that share a row: a power of two of them within a warp, or a block. What
// they join is in every one of them, the same bit for bit, by a fixed tree.
#pragma once
#include <cstring>

#include "kernels/cuda_launch.h"
#include "kernels/row/row_parts.h"
#include "kernels/row/row_value.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class V> struct JoinSum {
  using Acc = V;
  FLAM_FN V zero() const { return V(0); }
  FLAM_FN V join(V a, V b) const { return a + b; }
};
template <class V> struct JoinTwoSums {
  using Acc = TwoSums<V>;
  FLAM_FN Acc zero() const { return {V(0), V(0)}; }
  FLAM_FN Acc join(Acc a, Acc b) const { return {a.first + b.first, a.second + b.second}; }
};
template <class V> struct JoinGreatest {
  using Acc = V;
  FLAM_FN V zero() const { return -V(__builtin_huge_val()); }
  FLAM_FN V join(V a, V b) const { return b > a ? b : a; }
};

// A sum and what rounding has taken from it (Knuth's two-sum).
template <class V> struct JoinExact {
  struct Acc {
    V sum, rest;
  };
  FLAM_FN Acc zero() const { return {V(0), V(0)}; }
  FLAM_FN Acc join(Acc a, Acc b) const {
    const V s = a.sum + b.sum, part = s - a.sum;
    const V lost = (a.sum - (s - part)) + (b.sum - part);
    return {s, a.rest + b.rest + lost};
  }
  // Infinite sums have lost NaN.
  FLAM_FN static V total(Acc a) { return a.sum - a.sum == 0 ? a.sum + a.rest : a.sum; }
};

// The greatest, and the sum of exponentials below it. A row of -infinity sums to 0.
template <class V, class Exp> struct JoinExponentials {
  struct Acc {
    V top, sum;
  };
  Exp exp;
  static FLAM_FN V base(V top) { return top == -V(__builtin_huge_val()) ? V(0) : top; }
  FLAM_FN Acc zero() const { return {-V(__builtin_huge_val()), V(0)}; }
  FLAM_FN Acc join(Acc a, Acc b) const {
    const V top = b.top > a.top ? b.top : a.top;
    return {top, scaled(a, top) + scaled(b, top)};
  }
  FLAM_FN V scaled(Acc a, V top) const {
    return a.top == top ? a.sum : a.sum * exp(a.top - base(top));
  }
};

// Mean and squared distances from it. (Chan, Golub and LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", 1979.)
template <class V> struct JoinMoments {
  struct Acc {
    V count, mean, squares;
  };
  FLAM_FN Acc zero() const { return {V(0), V(0), V(0)}; }
  FLAM_FN Acc join(Acc a, Acc b) const {
    if (b.count == 0) return a;  // large distances times nothing would be NaN
    if (a.count == 0) return b;
    const V count = a.count + b.count;
    const V d = b.mean - a.mean, share = b.count / count;
    return {count, a.mean + d * share, a.squares + b.squares + d * d * (a.count * share)};
  }
};

template <class Acc> __device__ __forceinline__ Acc shuffled(const Acc& acc, int lane_bits) {
  static_assert(sizeof(Acc) % 4 == 0);
  constexpr int kWords = int(sizeof(Acc) / 4);
  int word[kWords];
  memcpy(word, &acc, sizeof acc);
#pragma unroll
  for (int w = 0; w < kWords; ++w) word[w] = __shfl_xor_sync(0xffffffffu, word[w], lane_bits);
  Acc other;
  memcpy(&other, word, sizeof other);
  return other;
}

// `a.join(b)` need not be `b.join(a)`: the lower lane's part is always the left one.
template <class M>
__device__ __forceinline__ typename M::Acc lanes_join(const M& m, typename M::Acc acc, int lanes) {
  for (int bits = lanes / 2; bits; bits /= 2) {
    const typename M::Acc other = shuffled(acc, bits);
    const bool lower = !(threadIdx.x & unsigned(bits));
    acc = m.join(lower ? acc : other, lower ? other : acc);
  }
  return acc;
}

// All threads of the block come here; `threads` of them share a row, whole warps or a part of one,
// and as many share each other row.
template <class M>
__device__ inline typename M::Acc group_join(const M& m, typename M::Acc acc, int threads) {
  acc = lanes_join(m, acc, threads < 32 ? threads : 32);
  if (threads <= 32) return acc;
  __shared__ typename M::Acc part[kMostRowThreads / 32];
  const int warps = threads / 32, warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  __syncthreads();  // the previous round may still be reading
  if (lane == 0) part[warp] = acc;
  __syncthreads();
  return lanes_join(m, lane < warps ? part[warp / warps * warps + lane] : m.zero(), 32);
}

}  // namespace flambeau::FLAM_TARGET
