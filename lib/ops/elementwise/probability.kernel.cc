// The maths of probability's functions, in double and rounded once. Two kernels hold all of them:
// they are rare, and a loop for each would be most of its code.
#include "ops/elementwise/probability.h"

#include "kernels/map/map_loop.h"
#include "kernels/math.h"
#include "ops/elementwise/erfinv.h"
#include "ops/elementwise/gamma.h"

namespace flambeau::FLAM_TARGET {

// exp(x^2) erfc(x): the square's rounding error is made good, and where erfc leaves double's range
// its asymptotic series stands.
FLAM_FN_APART double scaled_erfc(double x) {
  if (x > 20) {
    const double z = 0.5 / (x * x);
    double sum = 1;
    for (double odd = 13; odd > 0; odd -= 2) sum = 1 - odd * z * sum;
    return 0.56418958354775629 / x * sum;
  }
  const double square = x * x, rest = ::fma(x, x, -square);
  return square > 709 ? INFINITY : ::exp(square) * (1 + rest) * ::erfc(x);
}

FLAM_FN_APART double log_normal_below(double x) {
  const double t = x * 0.70710678118654752;
  return x < -1 ? ::log(scaled_erfc(-t) / 2) - t * t : ::log1p(-::erfc(t) / 2);
}

// In the tails by Newton's steps on the logarithm, which is concave there.
FLAM_FN_APART double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return NAN;
  if (p > 0.1 && p < 0.9) return 1.4142135623730951 * sharpened(erfinv_of(2 * p - 1), 2 * p - 1);
  const double sign = p < 0.5 ? 1 : -1, tail = p < 0.5 ? p : 1 - p;
  if (tail == 0) return -sign * INFINITY;
  const double wanted = ::log(tail);
  double y = -::sqrt(-2 * wanted);
  for (int i = 0; i < 12; ++i) {
    const double over = log_normal_below(y) - wanted;
    const double slope = 0.79788456080286536 / scaled_erfc(-y * 0.70710678118654752);
    y -= over / slope;
    if (::fabs(over) < 1e-15 * -wanted) break;
  }
  return sign * y;
}

FLAM_FN_APART double normal_of(Normal which, double x) {
  switch (which) {
    case Normal::below:
      return 0.5 * ::erfc(-x * 0.70710678118654752);
    case Normal::quantile:
      return normal_quantile(x);
    case Normal::log_below:
      return log_normal_below(x);
    case Normal::erfcx:
      return scaled_erfc(x);
    case Normal::entropy:
      return x > 0 ? -x * ::log(x) : x == 0 ? 0 : x != x ? x : -INFINITY;
  }
  return NAN;
}

struct NormalFunction {
  double which;
  template <class V> FLAM_FN V operator()(V x) const {
    return V(normal_of(Normal(int(which)), double(x)));
  }
};
FLAM_MAP(kNormalFunction, NormalFunction, FloatTypes);

// x^a exp(-x) / gamma(a + 1): for great a around Stirling's formula, where the parts of the
// exponent would cancel.
FLAM_FN_APART double gamma_factor(double a, double x) {
  if (a < 30) return ::exp(a * ::log(x) - x - ::lgamma(a + 1));
  const double d = (x - a) / a, z = 1 / (a * a);
  const double stirling = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680))) / a;
  const double gap = ::fabs(d) < 0.3 ? ::log1p(d) - d : ::log(x / a) - d;
  return ::exp(a * gap - stirling) / ::sqrt(6.283185307179586 * a);
}

// For great a both of the others take the more steps the greater it is. Temme's expansion, whose
// second term is below double's precision here: DLMF 8.12. Farther off nothing is left.
FLAM_FN_APART double incomplete_gamma_great(double a, double x, bool upper) {
  const double d = (x - a) / a, side = upper ? 1 : -1;
  if (::fabs(d) > 0.02) return (d < 0) == upper ? 1 : 0;
  double series = 0;  // of (d - log(1 + d)) / d^2
  for (int k = 12; k > 1; --k) series = 1.0 / k - d * series;
  const double eta = d * ::sqrt(2 * series), exponent = a * d * d * series;
  const double first = -1.0 / 3 - 1 / (540 * a) + eta * (1.0 / 12 - eta * (2.0 / 135 - eta / 864));
  const double rest = ::exp(-exponent) / ::sqrt(6.283185307179586 * a) * first;
  return 0.5 * ::erfc(side * ::copysign(::sqrt(exponent), d)) + side * rest;
}

// The lower function by its series, the upper one by its continued fraction (Lentz), whichever
// converges; the other is its complement.
FLAM_FN_APART double incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0)) return NAN;
  if (a == INFINITY) return x == INFINITY ? NAN : upper ? 1 : 0;
  if (a == 0 || x == INFINITY) return upper ? 0 : 1;
  if (x == 0) return upper ? 1 : 0;
  if (a > 1e7) return incomplete_gamma_great(a, x, upper);
  const double factor = gamma_factor(a, x);
  if (x < a + 1) {
    double term = 1, sum = 1;
    for (double n = a + 1; term > 1e-17 * sum; n += 1) sum += term *= x / n;
    const double below = factor * sum;
    return upper ? 1 - below : below;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (double i = 1; i < 1e6; i += 1) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (::fabs(d * c - 1) < 1e-16) break;
  }
  const double above = factor * a * h;
  return upper ? above : 1 - above;
}

FLAM_FN_APART double pair_of(OfPair which, double a, double b) {
  if (a != a || b != b) return a + b;
  return which == OfPair::zeta ? zeta_of(a, b)
                               : incomplete_gamma(a, b, which == OfPair::gamma_above);
}

struct PairFunction {
  double which;
  template <class V> FLAM_FN V operator()(V a, V b) const {
    return V(pair_of(OfPair(int(which)), double(a), double(b)));
  }
};
FLAM_MAP(kPairFunction, PairFunction, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
