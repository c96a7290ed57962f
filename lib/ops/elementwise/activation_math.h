// Activations as functions of float and double, computed as math.h's are: on the host a float goes
// through double and is rounded once, so that small results at the far end of an exponential keep
// their digits, but for those of activation_float.h.
#pragma once
#include "kernels/math.h"
#if defined(__FMA__) && !defined(__CUDACC__)
#include "ops/elementwise/activation_float.h"
#include "ops/elementwise/normal_far.h"
#endif

namespace flambeau::FLAM_TARGET {

// ---- the formulas, each once for every arithmetic -----------------------------------------------

// The standard normal distribution at x: Phi(x) and its density.
template <class T> struct Normal {
  T cdf, density;
};
template <class T> FLAM_FN Normal<T> normal_of(T cdf, T exp_of_minus_half_square) {
  return {cdf, exp_of_minus_half_square * T(0.39894228040143267794)};
}

// Of gelu(x) = x Phi(x).
template <class T> FLAM_FN T gelu_slope_of(T x, Normal<T> n) { return n.cdf + x * n.density; }

// gelu_tanh(x) = x sigmoid(logit(x)): 0.5 (1 + tanh(z)) is sigmoid(2 z).
template <class T> FLAM_FN T gelu_tanh_logit(T x) {
  return T(1.5957691216057308) * (x + T(0.044715) * x * x * x);
}
template <class T> FLAM_FN T gelu_tanh_logit_slope(T x) {
  return T(1.5957691216057308) * (T(1) + T(3 * 0.044715) * x * x);
}

// tanh(log(1 + e)) of e = exp(x): mish(x) / x.
template <class T> FLAM_FN T mish_factor(T e) {
  const T n = e * (e + 2);
  return n / (n + 2);
}

// ---- for each arithmetic: which elementary functions, and where they leave their range ----------

namespace core {

// x times what falls to 0 faster than x grows; at -infinity NaN, as the product is.
FLAM_FN double fading(double x, double least, double factor) {
  return x < least ? x * 0 : x * factor;
}
FLAM_FN double silu(double x) { return fading(x, -150, sigmoid(x)); }
FLAM_FN double gelu(double x) { return fading(x, -20, normal_cdf(x)); }
FLAM_FN double gelu_slope(double x) {  // of one exponential
  const double half = 0.5 * x * x, e = half > 150 ? 0 : exp(-half);
  const double tail = 0.5 * e * erfc_scaled(__builtin_fabs(x) * 0x1.6a09e667f3bcdp-1);
  return gelu_slope_of(x, normal_of(x > 0 ? 1 - tail : tail, e));
}
FLAM_FN double gelu_tanh(double x) { return fading(x, -20, sigmoid(gelu_tanh_logit(x))); }
FLAM_FN double mish(double x) { return fading(x, -150, mish_factor(exp(x > 40 ? 40 : x))); }

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
  return gelu_slope_of(x, normal_of(normal_cdf(x), expf(-0.5f * x * x)));
}
FLAM_FN float gelu_tanh(float x) { return x * sigmoid(gelu_tanh_logit(x)); }
FLAM_FN float mish(float x) { return x * mish_factor(expf(x > 20 ? 20 : x)); }
FLAM_FN float tanhshrink(float x) {
  return fabsf(x) < 0.25f ? static_cast<float>(core::tanhshrink_near(x)) : x - tanhf(x);
}
#else
#if defined(__FMA__) && !defined(__CUDACC__)
using single::gelu_slope;
using single::silu;
using single::usual_gelu;
using single::usual_silu;
FLAM_FN float gelu(float x) {
  const float near = usual_gelu(basic::clamp(x, -6, 6)), far = single::far_gelu(x);
  const float above = x > 6 ? x : near;
  return x < -6 ? far : above;
}
#else
FLAM_FN float silu(float x) { return static_cast<float>(core::silu(x)); }
FLAM_FN float gelu(float x) { return static_cast<float>(core::gelu(x)); }
FLAM_FN float gelu_slope(float x) { return static_cast<float>(core::gelu_slope(x)); }
#endif
FLAM_FN float gelu_tanh(float x) { return static_cast<float>(core::gelu_tanh(x)); }
FLAM_FN float mish(float x) { return static_cast<float>(core::mish(x)); }
FLAM_FN float tanhshrink(float x) { return static_cast<float>(core::tanhshrink(x)); }
#endif

FLAM_FN double silu(double x) { return x * sigmoid(x); }
FLAM_FN double gelu(double x) { return x * normal_cdf(x); }
FLAM_FN double gelu_slope(double x) {
  return gelu_slope_of(x, normal_of(normal_cdf(x), exp(-0.5 * x * x)));
}
FLAM_FN double gelu_tanh(double x) { return x * sigmoid(gelu_tanh_logit(x)); }
FLAM_FN double mish(double x) { return x * mish_factor(exp(x > 40 ? 40 : x)); }
FLAM_FN double tanhshrink(double x) {
  return ::fabs(x) < 0.03 ? core::tanhshrink_near(x) : x - tanh(x);
}

}  // namespace flambeau::FLAM_TARGET
