// The logarithmic derivative of the gamma function and Hurwitz's zeta function, in double.
// Source: Abramowitz and Stegun, 1964, 6.3.5, 6.3.7, 6.3.18 and 23.2.9.
#pragma once
#include <cmath>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

FLAM_FN_APART double digamma_of(double x) {
  double shift = 0;
  if (x == 0) return ::copysign(INFINITY, -x);
  if (x < 0) {
    const double whole = ::floor(x);
    if (x == whole) return x - x == 0 ? NAN : x - x;
    const double part = x - ::rint(x);  // reflection; the cotangent has period 1
    shift = -3.141592653589793 / ::tan(3.141592653589793 * part);
    x = 1 - x;
  }
  while (x < 10) {
    shift -= 1 / x;
    x += 1;
  }
  const double z = 1 / (x * x);
  const double tail =
      z * (1.0 / 12 -
           z * (1.0 / 120 -
                z * (1.0 / 252 -
                     z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
  return x > 1e17 ? ::log(x) + shift : ::log(x) - 0.5 / x - tail + shift;
}

// The Hurwitz zeta function of s above 1 and q above 0: terms up to 10, then Euler and Maclaurin.
FLAM_FN_APART double positive_zeta(double s, double q) {
  double sum = 0;
  while (q < 10) {
    sum += ::pow(q, -s);
    q += 1;
  }
  const double power = ::pow(q, -s), z = 1 / (q * q);
  double tail = power * (q / (s - 1) + 0.5), factor = s * power / q;
  const double bernoulli[] = {1.0 / 12,         -1.0 / 720,     1.0 / 30240,
                              -1.0 / 1209600,   1.0 / 47900160, -691.0 / 1307674368000,
                              1.0 / 74724249600};
  for (int k = 0; k < 7; ++k) {
    tail += bernoulli[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) * z;
  }
  return sum + tail;
}

// Terms of negative q + k are those of a positive zeta function backwards, which also ends.
FLAM_FN_APART double zeta_of(double s, double q) {
  if (!(s > 1)) return s == 1 ? INFINITY : NAN;
  if (!(q <= 0)) return positive_zeta(s, q);
  const double whole = ::floor(q);
  if (q == whole) return INFINITY;
  if (s != ::floor(s)) return NAN;
  const double below = positive_zeta(s, whole + 1 - q) - positive_zeta(s, 1 - q);
  return positive_zeta(s, q - whole) + (::fmod(s, 2.0) == 0 ? below : -below);
}

}  // namespace flambeau::FLAM_TARGET
