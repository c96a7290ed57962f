// The maths of complex arithmetic: each part of a result from the parts of the operands.
#include "ops/elementwise/complex.h"

#include <cmath>

#include "kernels/map/map_loop.h"
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

using PartTypes = TypeList<float, double>;

struct ComplexMulReal {
  template <class V> FLAM_FN V operator()(V a, V b, V c, V d) const { return a * c - b * d; }
};
struct ComplexMulImag {
  template <class V> FLAM_FN V operator()(V a, V b, V c, V d) const { return a * d + b * c; }
};
FLAM_MAP(kComplexMulReal, ComplexMulReal, PartTypes);
FLAM_MAP(kComplexMulImag, ComplexMulImag, PartTypes);

// Robert L. Smith, "Algorithm 116: Complex division", CACM 5 (1962): by the quotient of the
// divisor's parts, so that no square of them overflows. A divisor of 0, whatever its signs, divides
// each part.
struct ComplexDivReal {
  template <class V> FLAM_FN V operator()(V a, V b, V c, V d) const {
    const V cs = c < 0 ? -c : c, ds = d < 0 ? -d : d;
    if (cs == 0 && ds == 0) return a / fabs(c);
    const bool by_real = cs >= ds;
    const V ratio = by_real ? d / c : c / d;
    return by_real ? (a + b * ratio) / (c + d * ratio) : (a * ratio + b) / (c * ratio + d);
  }
};
struct ComplexDivImag {
  template <class V> FLAM_FN V operator()(V a, V b, V c, V d) const {
    const V cs = c < 0 ? -c : c, ds = d < 0 ? -d : d;
    if (cs == 0 && ds == 0) return b / fabs(c);
    const bool by_real = cs >= ds;
    const V ratio = by_real ? d / c : c / d;
    return by_real ? (b - a * ratio) / (c + d * ratio) : (b * ratio - a) / (c * ratio + d);
  }
};
FLAM_MAP(kComplexDivReal, ComplexDivReal, PartTypes);
FLAM_MAP(kComplexDivImag, ComplexDivImag, PartTypes);

// The root with a real part that is not negative. The part that a difference would make is the
// quotient of the imaginary part and twice the other one. Halved first, the sum does not overflow.
template <class V> struct Root {
  V large, small;
};
template <class V> FLAM_FN Root<V> root_of(V a, V b) {
  const V as = a < 0 ? -a : a, bs = b < 0 ? -b : b;
  const V most = as > bs ? as : bs, least = as > bs ? bs : as;
  if (most == 0) return {V(0), V(0)};
  const V ratio = least / most;
  const V half = V(0.5) * most * ::sqrt(V(1) + ratio * ratio) + V(0.5) * as;
  const V large = ::sqrt(half);
  return {large, V(0.5) * bs / large};
}
struct ComplexSqrtReal {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if (b - b != 0 && b == b) return b < 0 ? -b : b;  // infinite, whatever the real part
    if (a - a != 0 && (b == b || a > 0)) return a > 0 ? a : a < 0 ? V(0) : a;
    const Root<V> r = root_of(a, b);
    return a < 0 ? r.small : r.large;
  }
};
struct ComplexSqrtImag {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if (b - b != 0 && b == b) return b;
    if (a - a != 0 && (b == b || a < 0))
      return a > 0 ? b * V(0) : a < 0 ? V(__builtin_copysign(a, b)) : a;
    const Root<V> r = root_of(a, b);
    const V size = a < 0 ? r.large : r.small;
    return V(__builtin_copysign(size, b));
  }
};
FLAM_MAP(kComplexSqrtReal, ComplexSqrtReal, PartTypes);
FLAM_MAP(kComplexSqrtImag, ComplexSqrtImag, PartTypes);

struct Direction {
  template <class V> FLAM_FN V operator()(V part, V length) const {
    return length == 0 ? V(0) : part / length;
  }
};
FLAM_MAP(kDirection, Direction, PartTypes);

}  // namespace flambeau::FLAM_TARGET
