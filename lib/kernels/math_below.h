// exp(x) of what is known to be at most 64, as distances down from a greatest value are: the
// numbers of exp with two thirds of its work. 2^k goes into the exponent's bits, 32 above it so
// that a result that is denormal is rounded by the last product; 0 * x keeps a NaN.
#pragma once
#include "kernels/math.h"

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

}  // namespace flambeau::FLAM_TARGET
