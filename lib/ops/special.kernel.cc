// The maths of special functions: all are computed in double and rounded once.
#include "kernels/special.h"

#include "kernels/map_loop.h"
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

// One of Halley's steps takes the last bits of a double; beyond one half on the complement, which
// is exact there.
FLAM_FN double sharpened(double y, double x) {
  const double size = ::fabs(x), at = ::fabs(y);
  if (!(size < 1) || size == 0) return y;
  const double error = size < 0.5 ? ::erf(at) - size : (1 - size) - ::erfc(at);
  const double step = error * 0.88622692545275801 * ::exp(at * at);
  return ::copysign(at - step / (1 + at * step), x);
}

struct Erfinv {
  template <class V> FLAM_FN V operator()(V x) const {
    const double y = erfinv_of(double(x));
    if constexpr (sizeof(V) == sizeof(double)) return sharpened(y, x);
    return x == 0 ? x : V(y);
  }
};
FLAM_MAP(kErfinv, Erfinv, FloatTypes);

struct Lgamma {
  template <class V> FLAM_FN V operator()(V x) const { return V(::lgamma(double(x))); }
};
FLAM_MAP(kLgamma, Lgamma, FloatTypes);

FLAM_FN double digamma_of(double x) {
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

// The Hurwitz zeta function of a whole s above 1 and q above 0: terms up to 10, then Euler and
// Maclaurin.
FLAM_FN double positive_zeta(double s, double q) {
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
FLAM_FN double zeta_of(double s, double q) {
  if (!(q <= 0)) return positive_zeta(s, q);
  const double whole = ::floor(q);
  if (q == whole) return INFINITY;
  const double below = positive_zeta(s, whole + 1 - q) - positive_zeta(s, 1 - q);
  return positive_zeta(s, q - whole) + (::fmod(s, 2.0) == 0 ? below : -below);
}

struct Polygamma {
  double n;
  template <class V> FLAM_FN V operator()(V x) const {
    if (n == 0) return V(digamma_of(double(x)));
    double factorial = 1;
    for (double i = 2; i <= n; ++i) factorial *= i;
    const double sign = ::fmod(n, 2.0) == 0 ? -1 : 1;
    return x != x ? x : V(sign * factorial * zeta_of(n + 1, double(x)));
  }
};
FLAM_MAP(kPolygamma, Polygamma, FloatTypes);

struct Logit {
  double low, high;
  template <class V> FLAM_FN V operator()(V x) const {
    double p = double(x);
    p = p < low ? low : p;
    p = p > high ? high : p;
    const double near = (2 * p - 1) / (1 - p);  // exact around one half, where the result is 0
    return V(::fabs(near) < 0.5 ? ::log1p(near) : ::log(p / (1 - p)));
  }
};
FLAM_MAP(kLogit, Logit, FloatTypes);

// sin(pi x) / (pi x), 0 at every whole x but 0.
struct Sinc {
  template <class V> FLAM_FN V operator()(V x) const {
    const double p = double(x), part = p - ::rint(p);
    const double wave = ::sin(3.141592653589793 * part);
    const bool odd = ::fmod(::rint(p), 2.0) != 0;
    return p == 0 ? V(1) : V((odd ? -wave : wave) / (3.141592653589793 * p));
  }
};
FLAM_MAP(kSinc, Sinc, FloatTypes);

// How a gamma variable x moves with its concentration a at fixed probability, -(dP/da) / p, P the
// distribution function and p its slope: by the series of P, in the upper tail by the integral of
// what is above x, for great a by Wilson's and Hilferty's cube of a normal variable.
// Source: Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018.
FLAM_FN double gamma_slope_tail(double a, double x) {
  const double length = 1 / (1 - (a - 1) / x), psi = digamma_of(a);
  double sum = 0;
  for (double u = -4; u <= 4; u += 0.0625) {  // trapezoids of s = length exp(u - e^-u)
    const double s = length * ::exp(u - ::exp(-u));
    const double weight = ::exp((a - 1) * ::log1p(s / x) - s) * s * (1 + ::exp(-u));
    sum += weight * (::log(x + s) - psi);
  }
  return 0.0625 * sum;
}

FLAM_FN double gamma_slope_of(double a, double x) {
  if (!(a > 0 && x >= 0) || x - x != 0) return NAN;
  if (x == 0) return 0;
  if (a > 4000) {
    const double v = ::cbrt(x / (a - 1.0 / 3));
    return v * v * (1.5 - 0.5 * v);
  }
  if (x > a + 2 * ::sqrt(a) + 2) return gamma_slope_tail(a, x);
  double term = 1, harmonic = 0, sum = 0;
  const double start = ::log(x) - digamma_of(a + 1);
  for (double n = 1; term > 1e-17; n += 1) {
    sum += term * (start - harmonic);
    harmonic += 1 / (a + n);
    term *= x / (a + n);
  }
  return -x / a * sum;
}

struct GammaSlope {
  template <class V> FLAM_FN V operator()(V a, V x) const {
    return V(gamma_slope_of(double(a), double(x)));
  }
};
FLAM_MAP(kGammaSlope, GammaSlope, FloatTypes);

struct Copysign {
  template <class V> FLAM_FN V operator()(V x, V y) const {
    return V(::copysign(double(x), double(y)));
  }
};
FLAM_MAP(kCopysign, Copysign, FloatTypes);

struct Hypot {
  template <class V> FLAM_FN V operator()(V x, V y) const {
    return V(::hypot(double(x), double(y)));
  }
};
FLAM_MAP(kHypot, Hypot, FloatTypes);

struct Logaddexp {
  template <class V> FLAM_FN V operator()(V x, V y) const {
    const double a = double(x), b = double(y), high = a < b ? b : a;
    if (a == b && ::fabs(a) == INFINITY) return x;
    return a != a || b != b ? x + y : V(high + ::log1p(::exp(-::fabs(a - b))));
  }
};
FLAM_MAP(kLogaddexp, Logaddexp, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
