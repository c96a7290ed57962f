// exp(x) of what is known to be at most 64, as distances down from a greatest value are: the
// numbers of exp with two thirds of its work. 2^k goes into the exponent's bits, 32 above it so
// that a result that is denormal is rounded by the last product; 0 * x keeps a NaN.
#pragma once
#include "kernels/math.h"
#include "kernels/math_basic.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

#if defined(__FMA__) && !defined(__CUDACC__)
FLAM_FN float exp_below(float x) {
  using namespace single;
  constexpr float round = kRound<float> + 32;
  x = -104.0f > x ? -104.0f : x;
  const float shifted = multiply_add(x, kLog2E, round), k = shifted - round;
  const float r = multiply_add(k, -kLn2Low, multiply_add(k, -kLn2, x));
  const auto one = basic::sum(1.0f, r);
  const float y = one.high + multiply_add(r * r, exp_tail(r), one.low);
  const uint32_t power = bits_as<uint32_t>(shifted) << 23;
  return multiply_add(bits_as<float>(bits_as<uint32_t>(y) + power), 0x1p-32f, 0 * x);
}
#else
FLAM_FN float exp_below(float x) { return exp(x); }
#endif
FLAM_FN double exp_below(double x) { return exp(x); }

// To 2^-18 (2^-17 without fused multiply-add), for results of a half type; of 0 it is 1.
#if !defined(__CUDACC__)
FLAM_FN float rough_exp_below(float x) {
  using namespace basic;
  constexpr float round = kRound<float> + 32;
  x = -104.0f > x ? -104.0f : x;
  const float shifted = multiply_add(x, 0x1.715476p+0f, round);
  const float r = multiply_add(shifted - round, -0x1.62e430p-1f, x);
  const float p = polynomial(r, 0x1.fffba8p-1f, 0x1.0003f4p-1f, 0x1.57cebcp-3f, 0x1.5414d6p-5f);
  const float y = multiply_add(r, p, 1);
  const uint32_t power = bits_as<uint32_t>(shifted) << 23;
  return multiply_add(bits_as<float>(bits_as<uint32_t>(y) + power), 0x1p-32f, 0 * x);
}
#else
FLAM_FN float rough_exp_below(float x) { return exp_below(x); }
#endif

template <class T> FLAM_FN Compute<T> exp_below_for(Compute<T> x) {
  if constexpr (sizeof(T) == 2) return rough_exp_below(x);
  if constexpr (sizeof(T) != 2) return exp_below(x);
}

}  // namespace flambeau::FLAM_TARGET
