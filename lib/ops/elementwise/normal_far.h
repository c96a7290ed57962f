// GELU and the complement of the error function far out in the normal distribution's tail, in float
// arithmetic for processors with fused multiply-add: 1 ULP (tests/ops/test_precision.py), down to
// results that are denormal. Beyond 6 the tail is its density times what differs little from 1 / z,
// so that a short polynomial does. Trained nets have such values: in double, or one by one, they
// would be a cliff beside the forms for usual ones. Where results are 0 another number is computed,
// because processors take long over a product that is too small.
#pragma once
#include "kernels/math.h"

#if defined(__FMA__) && !defined(__CUDACC__)
namespace flambeau::FLAM_TARGET::single {

// exp(-factor z^2), factor a power of two: as exponential has it, with more in the second part.
FLAM_FN Scaled falling(float z, float factor) {
  const float size = -factor * z, square = size * z, lost = multiply_add(size, z, -square);
  const Nearest k = nearest(square, kLog2E);
  const Pair r = sum(multiply_add(k.value, -kLn2, square), multiply_add(k.value, -kLn2Low, lost));
  const Pair one = sum(1.0f, r.high);
  const float tail = multiply_add(r.high * r.high, exp_tail(r.high), r.low);
  return {{one.high, one.low + tail}, k.number};
}
FLAM_FN float lowered(float x, int32_t k) {  // by k from -180 to 0; a denormal is rounded once
  return x * power_of_two(k + 64) * 0x1p-64f;
}

// z Phi(-z) exp(z^2 / 2) of z from 6 on, given 1 / z^2.
FLAM_FN Pair far_factor(float w) {
  const float rest = -w * polynomial(w, 0x1.98841ap-2f, -0x1.324a00p+0f, 0x1.7ae972p+2f,
                                     -0x1.2749ccp+5f, 0x1.648142p+7f);
  const Pair f = sum(0x1.988454p-2f, rest);
  return {f.high, f.low - 0x1.857936p-27f};
}

inline constexpr float kGeluEnd = -14.4f;  // below, and a little above, it is 0
FLAM_FN float far_gelu(float x) {          // of x below -6
  constexpr float end = kGeluEnd;
  const float z = x < end ? 8 : -x;
  const Scaled e = falling(z, 0.5f);
  const Pair y = product(e.value, far_factor(1 / (z * z)));
  return x < end ? x * 0 : lowered(-(y.high + y.low), e.power);  // NaN at infinity
}

FLAM_FN float far_erfc(float x) {  // of x above 5
  constexpr float end = 10.1f;
  const float z = x > end ? 8 : x, inverse = 1 / z;
  const Scaled e = falling(z, 1);
  const Pair n = product(e.value, far_factor(0.5f * inverse * inverse));
  constexpr float half = 0x1.6a09e6p-1f, half_low = 0x1.9fcef4p-27f;  // sqrt(1/2)
  const float d = z * half, lost = multiply_add(z, half_low, multiply_add(z, half, -d));
  const Pair y = quotient(n, {d, lost});
  return x > end ? 0 : lowered(y.high + y.low, e.power);
}

}  // namespace flambeau::FLAM_TARGET::single
#endif
