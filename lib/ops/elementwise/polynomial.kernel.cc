// The maths of orthogonal polynomials: three-term recurrences in double, and Chebyshev's of a high
// degree inside [-1, 1] by their angles.
#include "ops/elementwise/polynomial.h"

#include <cfloat>

#include "kernels/map/map_loop.h"
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

FLAM_FN double chebyshev_by_angle(Polynomial which, double x, double n) {
  const double angle = ::acos(x);
  switch (which) {
    case Polynomial::chebyshev_t:
      return ::cos(n * angle);
    case Polynomial::chebyshev_u:
      return ::sin((n + 1) * angle) / ::sin(angle);
    case Polynomial::chebyshev_v:
      return ::cos((n + 0.5) * angle) / ::cos(angle / 2);
    default:
      return ::sin((n + 0.5) * angle) / ::sin(angle / 2);
  }
}

// Outside (-1, 1), where the angle is imaginary; at 1 and -1 the limits.
FLAM_FN double chebyshev_by_hyperbola(Polynomial which, double x, double n) {
  const bool odd = ::fmod(n, 2.0) != 0;
  const double sign = x < 0 && odd ? -1 : 1, angle = ::acosh(::fabs(x));
  if (x < 0 && which == Polynomial::chebyshev_v)
    which = Polynomial::chebyshev_w;  // V(-x) = +-W(x)
  else if (x < 0 && which == Polynomial::chebyshev_w)
    which = Polynomial::chebyshev_v;
  switch (which) {
    case Polynomial::chebyshev_t:
      return sign * ::cosh(n * angle);
    case Polynomial::chebyshev_u:
      return sign * (angle == 0 ? n + 1 : ::sinh((n + 1) * angle) / ::sinh(angle));
    case Polynomial::chebyshev_v:
      return sign * ::cosh((n + 0.5) * angle) / ::cosh(angle / 2);
    default:
      return sign * (angle == 0 ? 2 * n + 1 : ::sinh((n + 0.5) * angle) / ::sinh(angle / 2));
  }
}

// p of degree k + 1 from those of degree k and k - 1.
FLAM_FN double next_polynomial(Polynomial which, double x, double k, double p, double before) {
  switch (which) {
    case Polynomial::hermite_h:
      return 2 * x * p - 2 * k * before;
    case Polynomial::hermite_he:
      return x * p - k * before;
    case Polynomial::laguerre:
      return ((2 * k + 1 - x) * p - k * before) / (k + 1);
    case Polynomial::legendre:
      return ((2 * k + 1) * x * p - k * before) / (k + 1);
    default:
      return 2 * x * p - before;
  }
}

FLAM_FN double first_polynomial(Polynomial which, double x) {
  switch (which) {
    case Polynomial::chebyshev_u:
    case Polynomial::hermite_h:
      return 2 * x;
    case Polynomial::chebyshev_v:
      return 2 * x - 1;
    case Polynomial::chebyshev_w:
      return 2 * x + 1;
    case Polynomial::laguerre:
      return 1 - x;
    default:
      return x;
  }
}

// Degrees from which no recurrence is walked to its end: a tensor may hold 2^60.
inline constexpr double kMostSteps = 1 << 20;

// `most`: the degree from which Hermite's leave the dtype, as in torch.
FLAM_FN_APART double polynomial_of(Polynomial which, double x, double degree, double most) {
  const double n = ::trunc(degree);
  if (n < 0) return 0;
  if (n != n) return n;
  if (n == 0) return 1;
  const bool hermite = which == Polynomial::hermite_h || which == Polynomial::hermite_he;
  if (hermite && n > most) return NAN;
  if (which <= Polynomial::chebyshev_w && n > 8 && ::fabs(x) < 1) {
    return chebyshev_by_angle(which, x, n);
  }
  if (n > kMostSteps) {
    if (which > Polynomial::chebyshev_w) return NAN;
    const double y = chebyshev_by_hyperbola(which, x, n);
    return ::fabs(y) <= DBL_MAX ? y : NAN;  // as the recurrence ends where it leaves the range
  }
  double before = 1, p = first_polynomial(which, x);
  for (double k = 1; k < n && p == p; k += 1) {
    const double next = next_polynomial(which, x, k, p, before);
    before = p;
    p = next;
  }
  return p;
}

struct PolynomialFunction {
  double which, shifted;
  template <class V> FLAM_FN V operator()(V x, V n) const {
    const double at = shifted ? 2 * double(x) - 1 : double(x);
    return V(polynomial_of(Polynomial(int(which)), at, double(n), sizeof(V) == 4 ? 128 : 512));
  }
};
using PolynomialTypes = TypeList<float, double>;
FLAM_MAP(kPolynomial, PolynomialFunction, PolynomialTypes);

}  // namespace flambeau::FLAM_TARGET
