// The maths of special functions: all are computed in double and rounded once.
#include "ops/elementwise/special.h"

#include "kernels/map/map_loop.h"
#include "kernels/math.h"
#include "ops/elementwise/digamma.h"
#include "ops/elementwise/erfinv.h"
#include "ops/elementwise/gamma.h"
#include "ops/elementwise/lgamma.h"

namespace flambeau::FLAM_TARGET {

struct Erfinv {
  template <class V> FLAM_FN V operator()(V x) const {
    if constexpr (sizeof(V) == sizeof(double)) {
      return sharpened(erfinv_of(x), x);
    } else {
      const V size = fabs(x), inside = usual_erfinv(x);
      const V end = size == 1 ? x * __builtin_inff() : __builtin_nanf("");
      return size < 1 ? inside : end;
    }
  }
};
FLAM_MAP(kErfinv, Erfinv, FloatTypes);

// Those whose shorter form takes positive floats.
struct PositiveFloats {
  template <class V>
    requires std::is_same_v<V, float>
  FLAM_FN bool is_usual(V x) const {
    return is_usual_gamma(x);
  }
};
template <double (*kUsual)(double)> struct OfPositive {
  FLAM_FN float operator()(float x) const { return float(kUsual(double(x))); }
};
struct Lgamma : PositiveFloats {
  using Usual = OfPositive<&usual_lgamma>;
  FLAM_FN float operator()(float x) const {
    return float(is_usual_gamma(x) ? usual_lgamma(double(x)) : ::lgamma(double(x)));
  }
  FLAM_FN double operator()(double x) const { return ::lgamma(x); }
};
FLAM_MAP(kLgamma, Lgamma, FloatTypes);

struct Digamma : PositiveFloats {
  using Usual = OfPositive<&usual_digamma>;
  FLAM_FN float operator()(float x) const {
    return float(is_usual_gamma(x) ? usual_digamma(double(x)) : digamma_of(double(x)));
  }
  FLAM_FN double operator()(double x) const { return digamma_of(x); }
};
FLAM_MAP(kDigamma, Digamma, FloatTypes);

struct Trigamma : PositiveFloats {
  using Usual = OfPositive<&usual_trigamma>;
  FLAM_FN float operator()(float x) const {
    return float(is_usual_gamma(x) ? usual_trigamma(double(x)) : zeta_of(2, double(x)));
  }
  FLAM_FN double operator()(double x) const { return zeta_of(2, x); }
};
FLAM_MAP(kTrigamma, Trigamma, FloatTypes);

struct Polygamma {
  double n;
  template <class V> FLAM_FN V operator()(V x) const {
    double factorial = 1;
    for (double i = 2; i <= n && factorial < INFINITY; ++i) factorial *= i;
    const double sign = ::fmod(n, 2.0) == 0 ? -1 : 1;
    return x != x ? x : V(sign * factorial * zeta_of(n + 1, double(x)));
  }
};
FLAM_MAP(kPolygamma, Polygamma, FloatTypes);

struct Logit {
  double low, high;
  template <class V> FLAM_FN V operator()(V x) const {
    const double own = double(x);
    const double p = own < low ? low : own > high ? high : own;  // low where the two cross
    const double near = (2 * p - 1) / (1 - p);  // exact around one half, where the result is 0
    if constexpr (sizeof(V) == sizeof(double)) {
      return ::fabs(near) < 0.5 ? log1p(near) : log(p / (1 - p));
    } else {
      return V(::fabs(near) < 0.5 ? core::log1p(near) : core::log(p / (1 - p)));
    }
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
FLAM_FN_APART double gamma_slope_tail(double a, double x) {
  const double length = 1 / (1 - (a - 1) / x), psi = digamma_of(a);
  double sum = 0;
  for (double u = -4; u <= 4; u += 0.0625) {  // trapezoids of s = length exp(u - e^-u)
    const double s = length * ::exp(u - ::exp(-u));
    const double weight = ::exp((a - 1) * ::log1p(s / x) - s) * s * (1 + ::exp(-u));
    sum += weight * (::log(x + s) - psi);
  }
  return 0.0625 * sum;
}

FLAM_FN_APART double gamma_slope_of(double a, double x) {
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

// How a share x, which is beta(a, b), moves with a at fixed probability, divided by what is left of
// the whole, 1 - x: -(dI/da) / p / (1 - x), I the incomplete beta function and p its slope in x. By
// the series I = x (1 - x) p / a * sum of the products of (a + b + k) / (a + 1 + k) * x, or by that
// of the other share's, 1 - I with x and 1 - x, a and b exchanged.
// Source: Abramowitz and Stegun, 26.5.4 and 26.5.2; its terms' derivatives.
FLAM_FN_APART double share_slope_sum(double ratio, double top, double bottom, double start,
                                     bool own) {
  double term = 1, all = 0, sum = 0, change = start;
  for (double k = 0; k < 1e6 && term > 1e-17 * all; k += 1) {
    all += term;
    sum += term * change;
    term *= (top + k) / (bottom + 1 + k) * ratio;
    change += 1 / (top + k) - (own ? 1 / (bottom + 1 + k) : 0);
  }
  return sum;
}

FLAM_FN_APART double share_slope_of(double a, double x, double b) {
  if (b == 0) return 0;  // all of the whole
  if (!(a > 0 && b > 0 && x > 0 && x < 1)) return NAN;
  const double total = a + b, mean = a / total, left = 1 - x;
  if (a > 1e6 && b > 1e6) {  // as good as normal
    const double spread = 0.5 * (1 / a - 2 / total - 1 / (total + 1));
    return (b / (total * total) + (x - mean) * spread) / left;
  }
  // On a share's own side of the mean terms only fall; they do so too slowly near the other end.
  const bool own = x <= mean ? x < 0.99 : x < 0.01;
  const double start = ::log(x) + digamma_of(total) - digamma_of(own ? a + 1 : a);
  return own ? -x / a * share_slope_sum(x, total, a, start, true)
             : x / b * share_slope_sum(left, total, b, start, false);
}

struct ShareSlope {
  template <class V> FLAM_FN V operator()(V a, V x, V rest) const {
    return V(share_slope_of(double(a), double(x), double(rest)));
  }
};
FLAM_MAP(kShareSlope, ShareSlope, FloatTypes);

struct Copysign {
  template <class V> FLAM_FN V operator()(V x, V y) const {
    return V(::copysign(double(x), double(y)));
  }
};
FLAM_MAP(kCopysign, Copysign, FloatTypes);

struct Hypot {
  template <class V> FLAM_FN V operator()(V x, V y) const {
    if constexpr (sizeof(V) == sizeof(double)) return ::hypot(x, y);
    const double a = double(x), b = double(y), size = ::sqrt(a * a + b * b);
    const bool endless = (::fabs(a) == INFINITY) | (::fabs(b) == INFINITY);  // beside NaN, too
    return V(endless ? INFINITY : size);
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
