// The maths of elementwise operations of two operands.
#include "ops/elementwise/binary.h"

#include <cmath>

#include "kernels/map/map_loop.h"
#include "kernels/math.h"
#include "ops/elementwise/double_functions.h"
#include "ops/elementwise/short_fmod.h"

namespace flambeau::FLAM_TARGET {

struct Add {
  using Brief = void;
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if constexpr (std::is_same_v<V, bool>) {
      return a || b;
    } else {
      return V(a + b);
    }
  }
};
FLAM_MAP(kAdd, Add, AllTypes);

struct AddScaled {
  using Brief = void;
  double alpha;
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if constexpr (std::is_same_v<V, bool>) {
      return a || (b && alpha != 0);
    } else {
      return V(a + V(alpha) * b);
    }
  }
};
FLAM_MAP(kAddScaled, AddScaled, AllTypes);

struct Sub {
  using Brief = void;
  template <class V> FLAM_FN V operator()(V a, V b) const { return V(a - b); }
};
FLAM_MAP(kSub, Sub, NumberTypes);

struct Mul {
  using Brief = void;
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if constexpr (std::is_same_v<V, bool>) {
      return a && b;
    } else {
      return V(a * b);
    }
  }
};
FLAM_MAP(kMul, Mul, AllTypes);

// ---- division -----------------------------------------------------------------------------------

// Integers divided by 0 give 0 here; on the cpu the op refuses them beforehand. -1 is apart because
// the least integer has no negative.
template <class V> FLAM_FN V quotient(V a, V b) {
  if constexpr (std::is_signed_v<V>) {
    if (b == V(-1)) return V(0 - std::make_unsigned_t<V>(a));
  }
  return b == 0 ? V(0) : V(a / b);
}
template <class V> FLAM_FN V rest(V a, V b) { return V(a - V(quotient(a, b) * b)); }

// Whether a remainder other than 0 has the other sign than the divisor.
template <class V> FLAM_FN bool is_opposite(V remainder, V b) {
  return (remainder != 0) & ((remainder < 0) != (b < 0));
}

struct Div {
  using Brief = void;
  template <class V> FLAM_FN V operator()(V a, V b) const { return a / b; }
};
FLAM_MAP(kDiv, Div, FloatTypes);

struct DivTrunc {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>) {
      return trunc(a / b);
    } else {
      return quotient(a, b);
    }
  }
};
FLAM_MAP(kDivTrunc, DivTrunc, NumberTypes);

// As Python's: from the remainder, which is exact, so that rounding of a / b does not show.
template <class V> FLAM_FN V floor_quotient(V a, V b, V mod) {
  const V whole = (a - mod) / b - (is_opposite(mod, b) ? V(1) : V(0));
  const V low = floor(whole), y = whole - low > V(0.5) ? low + V(1) : low;
  const V signed_y = whole == 0 ? std::copysign(V(0), a / b) : y;
  return b == 0 ? a / b : signed_y;
}
template <class V> FLAM_FN V floor_remainder(V b, V mod) {
  return is_opposite(mod, b) ? mod + b : mod;
}

// Quotients that are not too large have a shorter way to the same remainder.
struct ShortQuotients {
  template <HasShortFmod V> FLAM_FN bool is_usual(V a, V b) const {
    return is_short_quotient(a, b);
  }
};
template <class V> FLAM_FN V any_fmod(V a, V b) {
  if constexpr (kHasUsual) return is_short_quotient(a, b) ? short_fmod(a, b) : fmod(a, b);
  if constexpr (!kHasUsual) return fmod(a, b);
}

struct UsualDivFloor {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    return floor_quotient(a, b, short_fmod(a, b));
  }
};
struct DivFloor : ShortQuotients {
  using Usual = UsualDivFloor;
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>) {
      return floor_quotient(a, b, any_fmod(a, b));
    } else {
      return V(quotient(a, b) - V(is_opposite(rest(a, b), b)));
    }
  }
};
FLAM_MAP(kDivFloor, DivFloor, NumberTypes);

struct UsualRemainder {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    return floor_remainder(b, short_fmod(a, b));
  }
};
struct Remainder : ShortQuotients {
  using Usual = UsualRemainder;
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>) {
      return floor_remainder(b, any_fmod(a, b));
    } else {
      const V mod = rest(a, b);
      return is_opposite(mod, b) ? V(mod + b) : mod;
    }
  }
};
FLAM_MAP(kRemainder, Remainder, NumberTypes);

struct UsualFmod {
  template <class V> FLAM_FN V operator()(V a, V b) const { return short_fmod(a, b); }
};
struct Fmod : ShortQuotients {
  using Usual = UsualFmod;
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>) {
      return any_fmod(a, b);
    } else {
      return rest(a, b);
    }
  }
};
FLAM_MAP(kFmod, Fmod, NumberTypes);

// ---- a number beside half types -----------------------------------------------------------------

template <class F> struct AsBrief {};
template <class F>
  requires requires { typename F::Brief; }
struct AsBrief<F> {
  using Brief = void;
};

template <class F> struct ByNumber;
template <class F> struct AsUsual {};
template <class F>
  requires requires { typename F::Usual; }
struct AsUsual<F> {
  using Usual = ByNumber<typename F::Usual>;
};

template <class F> struct ByNumber : AsBrief<F>, AsUsual<F> {
  double number;
  template <class V>
    requires requires(V x) { F{}.is_usual(x, x); }
  FLAM_FN bool is_usual(V x) const {
    return F{}.is_usual(x, V(number));
  }
  template <class V> FLAM_FN V operator()(V x) const { return F{}(x, V(number)); }
};
template <class F> struct OfNumber : AsBrief<F> {
  double number;
  template <class V> FLAM_FN V operator()(V x) const { return F{}(V(number), x); }
};

struct PlusNumber {
  using Brief = void;
  double scale, number;
  template <class V> FLAM_FN V operator()(V x) const { return V(scale) * x + V(number); }
};

using HalfTypes = TypeList<Half, BFloat16>;
FLAM_MAP(kPlusNumber, PlusNumber, HalfTypes);
FLAM_MAP(kTimesNumber, ByNumber<Mul>, HalfTypes);
FLAM_MAP(kOverNumber, ByNumber<Div>, HalfTypes);
FLAM_MAP(kNumberOver, OfNumber<Div>, HalfTypes);
FLAM_MAP(kTruncOverNumber, ByNumber<DivTrunc>, HalfTypes);
FLAM_MAP(kFloorOverNumber, ByNumber<DivFloor>, HalfTypes);

// ---- powers -------------------------------------------------------------------------------------

// By squaring, modulo the type's range; to a negative power only 1 and -1 are not 0.
template <class V> FLAM_FN V integer_power(V base, V exponent) {
  if constexpr (std::is_signed_v<V>) {
    if (exponent < 0) {
      return base == 1 ? V(1) : base == V(-1) ? V(exponent % 2 ? -1 : 1) : V(0);
    }
  }
  uint64_t result = 1, factor = uint64_t(base);
  for (uint64_t e = uint64_t(exponent); e; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return V(result);
}

struct UsualPow {
  FLAM_FN float operator()(float a, float b) const { return usual_pow(a, b); }
};
struct Pow {
  using Usual = UsualPow;
  template <class V>
    requires std::is_same_v<V, float>
  FLAM_FN bool is_usual(V a, V b) const {
    return (a > 0) & (a < V(INFINITY)) & (fabs(b) < V(INFINITY));
  }
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>) {
      return pow(a, b);
    } else {
      return integer_power(a, b);
    }
  }
};
FLAM_MAP(kPow, Pow, NumberTypes);

struct Atan2 {
  template <class V> FLAM_FN V operator()(V y, V x) const { return in_loops::atan2(y, x); }
};
FLAM_MAP(kAtan2, Atan2, FloatTypes);

// ---- order --------------------------------------------------------------------------------------

struct Maximum {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    return a != a ? a : b > a || b != b ? b : a;
  }
};
FLAM_MAP(kMaximum, Maximum, AllTypes);

struct Minimum {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    return a != a ? a : b < a || b != b ? b : a;
  }
};
FLAM_MAP(kMinimum, Minimum, AllTypes);

struct Fmax {
  template <class V> FLAM_FN V operator()(V a, V b) const { return b > a || a != a ? b : a; }
};
FLAM_MAP(kFmax, Fmax, AllTypes);

struct Fmin {
  template <class V> FLAM_FN V operator()(V a, V b) const { return b < a || a != a ? b : a; }
};
FLAM_MAP(kFmin, Fmin, AllTypes);

// ---- bits ---------------------------------------------------------------------------------------

struct BitwiseAnd {
  template <class V> FLAM_FN V operator()(V a, V b) const { return V(a & b); }
};
FLAM_MAP(kBitwiseAnd, BitwiseAnd, IntBoolTypes);

struct BitwiseOr {
  template <class V> FLAM_FN V operator()(V a, V b) const { return V(a | b); }
};
FLAM_MAP(kBitwiseOr, BitwiseOr, IntBoolTypes);

struct BitwiseXor {
  template <class V> FLAM_FN V operator()(V a, V b) const { return V(a ^ b); }
};
FLAM_MAP(kBitwiseXor, BitwiseXor, IntBoolTypes);

// Whether a shift is by less than the type's width; negative counts are not.
template <class V> FLAM_FN bool shifts_within(V count) {
  return std::make_unsigned_t<V>(count) < 8 * sizeof(V);
}

struct LeftShift {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    return shifts_within(b) ? V(std::make_unsigned_t<V>(a) << b) : V(0);
  }
};
FLAM_MAP(kLeftShift, LeftShift, IntTypes);

struct RightShift {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if (shifts_within(b)) return V(a >> b);
    return a < 0 ? V(-1) : V(0);
  }
};
FLAM_MAP(kRightShift, RightShift, IntTypes);

}  // namespace flambeau::FLAM_TARGET
