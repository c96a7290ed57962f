// The maths of Bessel functions, in double and rounded once. One kernel holds all of them: they are
// rare, and a loop for each would be most of its code.
#include "ops/elementwise/bessel.h"

#include "kernels/map/map_loop.h"
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

// exp(-a) I_n(a) of a not below 0: the power series, whose terms are all positive; for great a the
// asymptotic one, whose least term is below double's precision there.
FLAM_FN_APART double bessel_first(int n, double a, bool scaled) {
  if (a < 20) {
    double term = n ? a / 2 : 1, sum = term;
    for (int k = 1; term > 1e-17 * sum; ++k) {
      term *= a * a / 4 / (k * double(k + n));
      sum += term;
    }
    return scaled ? sum * ::exp(-a) : sum;
  }
  if (a == INFINITY) return scaled ? 0 : a;
  double term = 1, sum = 1;
  for (int k = 1; ::fabs(term) > 1e-17 && k < 40; ++k) {
    const double odd = 2 * k - 1;
    term *= (odd * odd - 4 * n) / (8 * k * a);
    sum += term;
  }
  sum /= ::sqrt(6.283185307179586 * a);
  return scaled ? sum : sum * ::exp(a / 2) * ::exp(a / 2);
}

// exp(x) K_n(x), the integral of exp(-x (cosh t - 1)) cosh(n t): trapezoids converge as fast as
// exponentials do, since the integrand falls to 0 twice as fast as one.
FLAM_FN_APART double bessel_second(int n, double x) {
  if (!(x > 0)) return x == 0 ? INFINITY : NAN;
  if (x == INFINITY) return 0;
  const double narrow = 0.7 / ::sqrt(x), step = narrow < 0.2 ? narrow : 0.2;
  double sum = 0.5;
  for (double t = step;; t += step) {
    const double half = ::sinh(t / 2), exponent = 2 * x * half * half;
    if (exponent > 750) break;
    const double term = ::exp(-exponent) * (n ? 2 * half * half + 1 : 1);
    sum += term;
    if (exponent > 1 && term < 1e-18 * sum) break;
  }
  return step * sum;
}

// Ai by its two power series about 0.
FLAM_FN_APART double airy_near(double x) {
  double even = 1, odd = x, evens = even, odds = odd;
  for (double k = 0; ::fabs(even) + ::fabs(odd) > 1e-18; k += 3) {
    even *= x * x * x / ((k + 2) * (k + 3));
    odd *= x * x * x / ((k + 3) * (k + 4));
    evens += even;
    odds += odd;
  }
  return 0.355028053887817239 * evens - 0.258819403792806798 * odds;
}

// Ai far from 0 by an integral over t of t^(-1/6) e^-t (2 + t / z)^(-1/6), z = 2/3 x^(3/2), which
// is imaginary on the left; t = exp(u - e^-u) makes trapezoids converge as fast as can be.
FLAM_FN_APART double airy_far(double x) {
  const double size = ::fabs(x), z = 2.0 / 3 * size * ::sqrt(size);
  double real = 0, imaginary = 0;
  for (double u = -4; u <= 4; u += 0.0625) {
    const double t = ::exp(u - ::exp(-u)), along = t / z;
    const double weight = ::pow(t, 5.0 / 6) * ::exp(-t) * (1 + ::exp(-u));
    const double power = x > 0 ? ::pow(2 + along, -1.0 / 6) : ::pow(4 + along * along, -1.0 / 12);
    const double angle = x > 0 ? 0 : ::atan2(along, 2.0) / 6;
    real += weight * power * ::cos(angle);
    imaginary += weight * power * ::sin(angle);
  }
  // 0.0625 / (sqrt(pi) 48^(1/6) gamma(5/6)) z^(-1/6)
  const double scale = 0.01638649981802019 * ::pow(z, -1.0 / 6);
  if (x > 0) return scale * ::exp(-z) * real;
  const double turn = 0.785398163397448310 - z;
  return 2 * scale * (::cos(turn) * real - ::sin(turn) * imaginary);
}

FLAM_FN_APART double airy_of(double x) {
  if (x != x) return x;
  if (::fabs(x) < 2) return airy_near(x);
  return ::fabs(x) == INFINITY ? 0 : airy_far(x);
}

FLAM_FN_APART double bessel_of(Bessel which, double x) {
  const double a = ::fabs(x), sign = x < 0 ? -1 : 1;
  switch (which) {
    case Bessel::i0:
      return bessel_first(0, a, false);
    case Bessel::i0e:
      return bessel_first(0, a, true);
    case Bessel::i1:
      return sign * bessel_first(1, a, false);
    case Bessel::i1e:
      return sign * bessel_first(1, a, true);
    case Bessel::k0:
      return bessel_second(0, x) * ::exp(-x);
    case Bessel::k0e:
      return bessel_second(0, x);
    case Bessel::k1:
      return bessel_second(1, x) * ::exp(-x);
    case Bessel::k1e:
      return bessel_second(1, x);
    case Bessel::j0:
      return ::j0(x);
    case Bessel::j1:
      return ::j1(x);
    case Bessel::y0:
      return ::y0(x);
    case Bessel::y1:
      return ::y1(x);
    case Bessel::airy:
      return airy_of(x);
    case Bessel::sphere:
      return x == 0 ? 1 : a == INFINITY ? 0 : ::sin(x) / x;
  }
  return NAN;
}

struct BesselFunction {
  double which;
  template <class V> FLAM_FN V operator()(V x) const {
    return V(bessel_of(Bessel(int(which)), double(x)));
  }
};
FLAM_MAP(kBessel, BesselFunction, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
