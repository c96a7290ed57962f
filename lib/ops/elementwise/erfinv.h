// The inverse of the error function, of floats in their own arithmetic where the processor
// multiplies and adds in one rounding, to 2 ULP (tests/ops/test_precision.py); else in double.
#pragma once
#include <cmath>

#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

FLAM_FN double horner(const double (&k)[8], double r) {
  double value = k[7];
  for (int i = 6; i >= 0; --i) value = value * r + k[i];
  return value;
}

// The quantile of the normal distribution, to 1e-15: Wichura, algorithm AS 241 (1988), whose
// quotients of polynomials are for the middle, the tail and the far tail.
FLAM_FN double erfinv_of(double x) {
  constexpr double half_root = 0.70710678118654752440;
  const double size = ::fabs(x);
  if (!(size <= 1)) return x * 0 / (x * 0);
  if (size == 1) return x * INFINITY;
  if (size <= 0.85) {
    constexpr double over[8] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                1.9715909503065514427e3, 1.3731693765509461125e4,
                                4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3};
    constexpr double under[8] = {1,
                                 4.2313330701600911252e1,
                                 6.8718700749205790830e2,
                                 5.3941960214247511077e3,
                                 2.1213794301586595867e4,
                                 3.9307895800092710610e4,
                                 2.8729085735721942674e4,
                                 5.2264952788528545610e3};
    const double r = 0.180625 - x * x / 4;
    return half_root * (x / 2) * horner(over, r) / horner(under, r);
  }
  const double r = ::sqrt(-::log((1 - size) / 2));
  double y;
  if (r <= 5) {
    constexpr double over[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                5.76949722146069140550e0,  3.64784832476320460504e0,
                                1.27045825245236838258e0,  2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr double under[8] = {1,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
    y = horner(over, r - 1.6) / horner(under, r - 1.6);
  } else {
    constexpr double over[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                1.78482653991729133580e0,  2.96560571828504891230e-1,
                                2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr double under[8] = {1,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};
    y = horner(over, r - 5) / horner(under, r - 5);
  }
  return ::copysign(half_root * y, x);
}

// Of floats of size below 1, branch-free: their quotient by x is a smooth function of
// w = -log(1 - x^2), after Giles, "Approximating the erfinv function" (2010), up to 16.
#if defined(__FMA__) && !defined(__CUDACC__)
// By two polynomials, from 5 on in the root of w; the first term's rounding is made up for.
FLAM_FN float usual_erfinv(float x) {
  using namespace single;
  const Split s = split(multiply_add(-x, x, 1));
  const float f = s.mantissa - 1;
  const float w = -multiply_add(s.exponent, kLn2Short + kLn2Rest, f + log_tail(f).high);
  const bool far = w > 5;
  const float u = far ? ::sqrtf(w) - 3 : w - 1.75f;
  const auto term = [&](float near_term, float far_term)
                        __attribute__((always_inline)) { return far ? far_term : near_term; };
  const float rest =
      polynomial(u, term(-0x1.6362a6p-26f, -0x1.01c5acp-26f), term(0x1.006e80p-2f, 0x1.006dcap+0f),
                 term(-0x1.44ce0ep-11f, 0x1.358106p-7f), term(-0x1.f287a6p-10f, -0x1.f4e008p-8f),
                 term(0x1.a701c6p-13f, 0x1.74be2ap-8f), term(0x1.fe11bap-17f, -0x1.d38fbep-9f),
                 term(-0x1.61366ap-18f, 0x1.82c7d6p-10f), term(0x1.5e1c36p-23f, -0x1.f64f26p-14f),
                 term(0x1.7047eap-24f, -0x1.238476p-12f), term(-0x1.83e6a2p-27f, 0x1.50423cp-13f),
                 term(0x1.70efcep-32f, -0x1.ea3a9ep-16f));
  const float y = multiply_add(x, term(0x1.508eb4p+0f, 0x1.6a9efcp+1f), x * rest);
  return __builtin_copysignf(y, x);  // of -0, too
}
#else
FLAM_FN float usual_erfinv(float number) {  // to 2^-29 of it before it is rounded
  const double x = double(number);
  const core::Logarithm l = core::logarithm(1 - x * x);
  const double w = basic::multiply_add(l.exponent, -0x1.62e42fefa39efp-1, -l.rest);
  const double quotient = basic::polynomial(
      w - 8, 0x1.54aa05784c0dep+1, 0x1.692e027841bbep-3, -0x1.4b50156bea40cp-8,
      0x1.017b1c5bc6ce6p-12, -0x1.2ae5c82605ee8p-17, -0x1.01c30cad039dbp-21, 0x1.59ecb0e720e94p-23,
      -0x1.7b04d56349dbfp-26, 0x1.0a4795990c041p-29, -0x1.65bfb38287ec5p-34, -0x1.aabf35f021f80p-40,
      0x1.bcf0cf15da220p-42, -0x1.b3cca8aeccf07p-43, 0x1.67c7ae9d3b29cp-45, -0x1.00f18d2fc9582p-50,
      -0x1.f9145d4000793p-52, 0x1.0315c5cbbeb6ap-55, 0x1.a0094a4f30623p-60, -0x1.1efe28fbedfbep-63);
  return float(x * quotient);
}
#endif

// One of Halley's steps takes the last bits of a double; beyond one half on the complement, which
// is exact there.
FLAM_FN double sharpened(double y, double x) {
  const double size = ::fabs(x), at = ::fabs(y);
  if (!(size < 1) || size == 0) return y;
  const double error = size < 0.5 ? ::erf(at) - size : (1 - size) - ::erfc(at);
  const double step = error * 0.88622692545275801 * ::exp(at * at);
  return ::copysign(at - step / (1 + at * step), x);
}

}  // namespace flambeau::FLAM_TARGET
