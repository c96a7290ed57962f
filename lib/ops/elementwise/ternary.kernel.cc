// The maths of elementwise operations of three operands.
#include "ops/elementwise/ternary.h"

#include <limits>

#include "base/half.h"
#include "kernels/map/map_loop.h"
#include "ops/elementwise/saturated.h"

namespace flambeau::FLAM_TARGET {

// By masks of bits: around a choice of values in memory the compiler would leave a branch.
struct Where {
  using First = bool;
  template <class V> FLAM_FN V operator()(bool condition, V a, V b) const {
    if constexpr (std::is_same_v<V, bool>) {
      return (condition & a) | (!condition & b);
    } else {
      using Bits = std::conditional_t<
          sizeof(V) == 8, uint64_t,
          std::conditional_t<sizeof(V) == 4, uint32_t,
                             std::conditional_t<sizeof(V) == 2, uint16_t, uint8_t>>>;
      const Bits mask = Bits(0) - Bits(condition), other = bits_as<Bits>(b);
      return bits_as<V>(Bits(other ^ (mask & (bits_as<Bits>(a) ^ other))));
    }
  }
};
FLAM_MAP(kWhere, Where, AllTypes);

// NaN wins wherever it is; the upper bound is applied last.
template <class V> FLAM_FN V clamped(V x, V low, V high) {
  if (x != x) return x;
  const V raised = x < low || low != low ? low : x;
  return high < raised || high != high ? high : raised;
}

struct Clamp {
  template <class V> FLAM_FN V operator()(V x, V low, V high) const {
    return clamped(x, low, high);
  }
};
FLAM_MAP(kClamp, Clamp, AllTypes);

struct ClampNumbers {
  double low, high;  // not NaN
  template <class V> FLAM_FN V operator()(V x) const {
    const V least = saturated<V>(low), most = saturated<V>(high), raised = x < least ? least : x;
    return most < raised ? most : raised;
  }
};
FLAM_MAP(kClampNumbers, ClampNumbers, NumberTypes);

struct Lerp {
  template <class V> FLAM_FN V operator()(V from, V to, V weight) const {
    // From the nearer end, so that weight 1 gives `to` exactly.
    return weight < V(0.5) && weight > V(-0.5) ? from + weight * (to - from)
                                               : to - (to - from) * (V(1) - weight);
  }
};
FLAM_MAP(kLerp, Lerp, FloatTypes);

struct LerpNumber {
  double weight;
  template <class V> FLAM_FN V operator()(V from, V to) const {
    return Lerp{}(from, to, V(weight));
  }
};
FLAM_MAP(kLerpNumber, LerpNumber, FloatTypes);

struct Addcmul {
  double value;
  template <class V> FLAM_FN V operator()(V x, V a, V b) const { return V(x + V(value) * a * b); }
};
FLAM_MAP(kAddcmul, Addcmul, NumberTypes);

struct Addcdiv {
  double value;
  template <class V> FLAM_FN V operator()(V x, V a, V b) const { return x + V(value) * a / b; }
};
FLAM_MAP(kAddcdiv, Addcdiv, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
