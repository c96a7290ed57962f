// The maths of common divisors, neighbouring numbers, mantissas and exponents.
#include "ops/elementwise/numeric.h"

#include "kernels/map/map_loop.h"
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

FLAM_FN_APART int64_t divisor_of(int64_t a, int64_t b, bool multiple) {
  uint64_t x = a < 0 ? 0 - uint64_t(a) : uint64_t(a), y = b < 0 ? 0 - uint64_t(b) : uint64_t(b);
  const uint64_t first = x, second = y;
  while (y) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  if (multiple) return x ? int64_t(first / x * second) : 0;
  return int64_t(x);
}

struct Divisor {
  double multiple;
  template <class V> FLAM_FN V operator()(V a, V b) const {
    return V(divisor_of(int64_t(a), int64_t(b), multiple != 0));
  }
};
FLAM_MAP(kDivisor, Divisor, IntTypes);

// Neighbours are next to each other as integers, too. A bf16 is every 65536th f32, an f16 every
// 8192nd, but that below 2^-14 its steps stay what they are there, and above 65504 is infinity.
struct Nextafter {
  double units, least_step;  // of the dtype in units of the computed one; its least number
  template <class V> FLAM_FN V operator()(V x, V y) const {
    using Bits = std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>;
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    const V step = least_step != 0 ? V(least_step) : bits_as<V>(Bits(units));
    if (x == 0) return y < 0 ? -step : step;
    const bool half = units == 8192, outwards = (x < y) == (x > 0);
    const V size = ::fabs(x), edge = V(0x1p-14);
    if (half && (outwards ? size < edge : size <= edge)) return x < y ? x + step : x - step;
    if (half && size > V(65504)) return x < 0 ? V(-65504) : V(65504);
    const Bits own = bits_as<Bits>(x);
    return bits_as<V>(outwards ? own + Bits(units) : own - Bits(units));
  }
};
FLAM_MAP(kNextafter, Nextafter, FloatTypes);

struct Frexp {
  double exponent;
  template <class V> FLAM_FN V operator()(V x) const {
    if (x == 0 || x - x != 0) return exponent != 0 ? V(0) : x;
    int e = 0;
    const double mantissa = ::frexp(double(x), &e);
    return exponent != 0 ? V(e) : V(mantissa);
  }
};
FLAM_MAP(kFrexp, Frexp, FloatTypes);

// In one step: the power alone may have no value where the product has.
struct Ldexp {
  template <class V> FLAM_FN V operator()(V x, V exponent) const {
    const double e = double(exponent), near = e < -5000 ? -5000 : e > 5000 ? 5000 : e;
    return V(::ldexp(double(x), int(near)));
  }
};
FLAM_MAP(kLdexp, Ldexp, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
