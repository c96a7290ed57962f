// What elementary functions are built of, once for float and double: NaN passes through every
// comparison, and products are fused into sums where the processor does so, which saves a rounding.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET::basic {

template <class T> using Same = std::type_identity_t<T>;

template <class T> FLAM_FN T clamp(T x, Same<T> low, Same<T> high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

template <class T> FLAM_FN T multiply_add(T a, Same<T> b, Same<T> c) {
#if !defined(__FMA__) || defined(__CUDACC__)
  return a * b + c;
#else
  if constexpr (sizeof(T) == 4) {
    return __builtin_fmaf(a, b, c);
  } else {
    return __builtin_fma(a, b, c);
  }
#endif
}

template <class T, class... C> FLAM_FN T polynomial(T x, Same<T> c0, C... rest) {
  if constexpr (sizeof...(C) == 0) {
    return c0;
  } else {
    return multiply_add(x, polynomial(x, rest...), c0);
  }
}

// The same with half as many products waiting for one another, at the price of the square.
template <class T, class... C>
FLAM_FN T polynomial_by_pairs(T x, T square, Same<T> c0, Same<T> c1, C... rest) {
  const T pair = multiply_add(x, c1, c0);
  if constexpr (sizeof...(C) == 0) {
    return pair;
  } else {
    return multiply_add(square, polynomial_by_pairs(x, square, rest...), pair);
  }
}

template <class T> FLAM_FN T at_the_ends(T x, T result) {  // of a logarithm
  constexpr T inf = T(__builtin_inf());
  result = x == inf ? inf : result;
  result = x == 0 ? -inf : result;
  return x >= 0 ? result : T(__builtin_nan(""));
}

// Added, leaves a number's nearest integer in its low bits.
template <class T> inline constexpr T kRound = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);

template <class T> struct Pair {
  T high, low;  // a value, and what rounding it lost
};
template <class T> FLAM_FN Pair<T> sum(T large, Same<T> small) {
  const T high = large + small;
  return {high, small - (high - large)};
}

template <class T> FLAM_FN Pair<T> quotient(Pair<T> n, Pair<T> d) {
  const T inverse = 1 / d.high, q = n.high * inverse;
  return {q, inverse * (multiply_add(-q, d.high, n.high) + multiply_add(-q, d.low, n.low))};
}

}  // namespace flambeau::FLAM_TARGET::basic
