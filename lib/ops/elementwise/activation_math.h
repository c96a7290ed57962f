// Activations as functions of float and double, computed as math.h's are: on the host a float goes
// through double and is rounded once, so that small results at the far end of an exponential keep
// their digits.
#pragma once
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

namespace core {

// x times what falls to 0 faster than x grows; at -infinity NaN, as the product is.
FLAM_FN double fading(double x, double least, double factor) {
  return x < least ? x * 0 : x * factor;
}
FLAM_FN double silu(double x) { return fading(x, -150, sigmoid(x)); }
FLAM_FN double gelu(double x) { return fading(x, -20, normal_cdf(x)); }
FLAM_FN double gelu_slope(double x) {  // normal_cdf(x) + x * density, of one exponential
  const double half = 0.5 * x * x, e = half > 150 ? 0 : exp(-half);
  const double tail = 0.5 * e * erfc_scaled(__builtin_fabs(x) * 0x1.6a09e667f3bcdp-1);
  return (x > 0 ? 1 - tail : tail) + x * (e * 0.39894228040143267794);
}
FLAM_FN double gelu_tanh(double x) {
  return fading(x, -20, sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x)));
}
FLAM_FN double mish(double x) {  // tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2)
  const double e = exp(x > 40 ? 40 : x), n = e * (e + 2);
  return fading(x, -150, n / (n + 2));
}

// x - tanh(x) near 0.
FLAM_FN double tanhshrink_near(double x) {
  return x * x * x *
         polynomial(x * x, 1.0 / 3, -2.0 / 15, 17.0 / 315, -62.0 / 2835, 1382.0 / 155925);
}
FLAM_FN double tanhshrink(double x) {
  return __builtin_fabs(x) < 0.25 ? tanhshrink_near(x) : x - tanh(x);
}

}  // namespace core

#if defined(__CUDA_ARCH__)
FLAM_FN float silu(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0 ? x * e : x) / (1 + e);
}
FLAM_FN float gelu(float x) { return x * normal_cdf(x); }
FLAM_FN float gelu_slope(float x) {
  return normal_cdf(x) + x * (expf(-0.5f * x * x) * 0.39894228040143267794f);
}
FLAM_FN float gelu_tanh(float x) {
  return x * sigmoid(1.5957691216057308f * (x + 0.044715f * x * x * x));
}
FLAM_FN float mish(float x) {
  const float e = expf(x > 20 ? 20 : x), n = e * (e + 2);
  return x * (n / (n + 2));
}
FLAM_FN float tanhshrink(float x) {
  return fabsf(x) < 0.25f ? static_cast<float>(core::tanhshrink_near(x)) : x - tanhf(x);
}
#else
FLAM_FN float silu(float x) { return static_cast<float>(core::silu(x)); }
FLAM_FN float gelu(float x) { return static_cast<float>(core::gelu(x)); }
FLAM_FN float gelu_slope(float x) { return static_cast<float>(core::gelu_slope(x)); }
FLAM_FN float gelu_tanh(float x) { return static_cast<float>(core::gelu_tanh(x)); }
FLAM_FN float mish(float x) { return static_cast<float>(core::mish(x)); }
FLAM_FN float tanhshrink(float x) { return static_cast<float>(core::tanhshrink(x)); }
#endif

FLAM_FN double silu(double x) { return x * sigmoid(x); }
FLAM_FN double gelu(double x) { return x * normal_cdf(x); }
FLAM_FN double gelu_slope(double x) {
  return normal_cdf(x) + x * (::exp(-0.5 * x * x) * 0.39894228040143267794);
}
FLAM_FN double gelu_tanh(double x) {
  return x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x));
}
FLAM_FN double mish(double x) {
  const double e = ::exp(x > 40 ? 40 : x), n = e * (e + 2);
  return x * (n / (n + 2));
}
FLAM_FN double tanhshrink(double x) {
  return ::fabs(x) < 0.03 ? core::tanhshrink_near(x) : x - ::tanh(x);
}

}  // namespace flambeau::FLAM_TARGET
