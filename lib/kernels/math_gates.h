// The sigmoid and tanh of a recurrent cell's gates: plain forms within 3 ULP, at half the price of
// math.h's, because a step's time is made of five of them for each element, and what the state
// adds up rounds as much. Below -87 a gate is closed: its sigmoid is 0. NaN stays NaN.
#pragma once
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

template <class C> FLAM_FN C gate_sigmoid(C x) {
  const C e = exp(-fabs(x));
  return (x < 0 ? e : C(1)) / (1 + e);
}
FLAM_FN double gate_tanh(double x) { return tanh(x); }

#if defined(__FMA__) && !defined(__CUDACC__)
namespace single {

struct PlainPower {
  float unit, rest;  // unit (1 + rest) = exp(x)
};
FLAM_FN PlainPower plain_power(float x) {
  const float shifted = multiply_add(x, kLog2E, kRound<float>), k = shifted - kRound<float>;
  const float r = multiply_add(k, -kLn2Low, multiply_add(k, -kLn2, x));
  const uint32_t power = bits_as<uint32_t>(shifted) << 23;
  return {bits_as<float>(bits_as<uint32_t>(1.0f) + power), multiply_add(r * r, exp_tail(r), r)};
}

}  // namespace single

FLAM_FN float gate_sigmoid(float x) {
  const auto e = single::plain_power(87 < x ? -87 : -x);  // what it makes of less is not used
  const float open = 1 / (1 + basic::multiply_add(e.unit, e.rest, e.unit));
  return x < -87 ? 0 : open;
}
FLAM_FN float gate_tanh(float x) {
  const float y = -2 * fabs(x);
  const auto e = single::plain_power(-20 > y ? -20 : y);
  const float n = basic::multiply_add(e.unit, e.rest, e.unit - 1);  // exp(-2|x|) - 1
  return __builtin_copysignf(n / (2 + n), x);
}
#else
FLAM_FN float gate_tanh(float x) { return tanh(x); }
#endif

}  // namespace flambeau::FLAM_TARGET
