// The maths of elementwise functions of one operand.
#include "ops/elementwise/pointwise.h"

#include "kernels/map/map_eights.h"
#include "kernels/map/map_loop.h"
#include "kernels/math.h"
#include "kernels/math_rough.h"
#include "ops/elementwise/activation_lanes.h"
#include "ops/elementwise/double_functions.h"
#include "ops/elementwise/erf_eights.h"
#include "ops/elementwise/sigmoid_wide.h"
#include "ops/elementwise/usual.h"

namespace flambeau::FLAM_TARGET {

struct AbsBits {
  template <class V> FLAM_FN V operator()(V word) const { return V(word & 0x7fff); }
};
struct Abs {
  using OnBits = AbsBits;
  template <class V> FLAM_FN V operator()(V x) const {
    if constexpr (std::is_floating_point_v<V>) {
      return fabs(x);
    } else if constexpr (std::is_signed_v<V>) {
      return x < 0 ? V(0 - std::make_unsigned_t<V>(x)) : x;
    } else {
      return x;
    }
  }
};
FLAM_MAP(kAbs, Abs, NumberTypes);

struct NegBits {
  template <class V> FLAM_FN V operator()(V word) const { return V(word ^ 0x8000); }
};
struct Neg {
  using OnBits = NegBits;
  template <class V> FLAM_FN V operator()(V x) const {
    if constexpr (std::is_floating_point_v<V>) {
      return -x;
    } else {
      return V(0 - std::make_unsigned_t<V>(x));
    }
  }
};
FLAM_MAP(kNeg, Neg, NumberTypes);

struct Sign {
  template <class V> FLAM_FN V operator()(V x) const {
    if constexpr (std::is_same_v<V, bool>) {
      return x;
    } else {
      return V(V(x > 0) - V(x < 0));
    }
  }
};
FLAM_MAP(kSign, Sign, AllTypes);

struct UsualExp {
  template <class V> FLAM_FN V operator()(V x) const { return usual_exp(x); }
};
struct Exp : UsualUpTo<87> {
  using Usual = UsualExp;
  template <class V> FLAM_FN V operator()(V x) const { return exp(x); }
};
FLAM_MAP(kExp, Exp, FloatTypes);

struct UsualExp2 {
  template <class V> FLAM_FN V operator()(V x) const { return usual_exp2(x); }
};
struct Exp2 : UsualUpTo<126> {
  using Usual = UsualExp2;
  template <class V> FLAM_FN V operator()(V x) const { return exp2(x); }
};
FLAM_MAP(kExp2, Exp2, FloatTypes);

struct Expm1 {
  template <class V> FLAM_FN V operator()(V x) const { return expm1(x); }
};
FLAM_MAP(kExpm1, Expm1, FloatTypes);

struct Log {
  template <class V> FLAM_FN V operator()(V x) const { return log(x); }
};
FLAM_MAP(kLog, Log, FloatTypes);

struct Log2 {
  template <class V> FLAM_FN V operator()(V x) const { return log2(x); }
};
FLAM_MAP(kLog2, Log2, FloatTypes);

struct Log10 {
  template <class V> FLAM_FN V operator()(V x) const { return log10(x); }
};
FLAM_MAP(kLog10, Log10, FloatTypes);

struct Log1p {
  template <class V> FLAM_FN V operator()(V x) const { return log1p(x); }
};
FLAM_MAP(kLog1p, Log1p, FloatTypes);

struct Sqrt {
  template <class V> FLAM_FN V operator()(V x) const { return sqrt(x); }
};
FLAM_MAP(kSqrt, Sqrt, FloatTypes);

struct Rsqrt {
  template <class V> FLAM_FN V operator()(V x) const { return rsqrt(x); }
};
FLAM_MAP(kRsqrt, Rsqrt, FloatTypes);

struct Reciprocal {
  template <class V> FLAM_FN V operator()(V x) const { return V(1) / x; }
};
FLAM_MAP(kReciprocal, Reciprocal, FloatTypes);

struct UsualAngles {
  template <class V>
    requires kHasUsual
  FLAM_FN bool is_usual(V x) const {
    return is_usual_angle(x);
  }
};

struct UsualSin {
  template <class V> FLAM_FN V operator()(V x) const { return usual_sin(x); }
};
struct UsualRoughSin {
  FLAM_FN float operator()(float x) const { return rough::sin(x); }
};
struct RoughSin : UsualAngles {
  using Usual = UsualRoughSin;
  FLAM_FN float operator()(float x) const {
    return kHasUsual && fabs(x) <= 1e5f ? rough::sin(x) : sin(x);
  }
};
struct Sin : UsualAngles {
  using Usual = UsualSin;
  using Rough = RoughSin;
  template <class V> FLAM_FN V operator()(V x) const { return sin(x); }
};
FLAM_MAP(kSin, Sin, FloatTypes);

struct UsualCos {
  template <class V> FLAM_FN V operator()(V x) const { return usual_cos(x); }
};
struct UsualRoughCos {
  FLAM_FN float operator()(float x) const { return rough::cos(x); }
};
struct RoughCos : UsualAngles {
  using Usual = UsualRoughCos;
  FLAM_FN float operator()(float x) const {
    return kHasUsual && fabs(x) <= 1e5f ? rough::cos(x) : cos(x);
  }
};
struct Cos : UsualAngles {
  using Usual = UsualCos;
  using Rough = RoughCos;
  template <class V> FLAM_FN V operator()(V x) const { return cos(x); }
};
FLAM_MAP(kCos, Cos, FloatTypes);

struct UsualTan {
  template <class V> FLAM_FN V operator()(V x) const { return usual_tan(x); }
};
struct Tan : UsualAngles {
  using Usual = UsualTan;
  template <class V> FLAM_FN V operator()(V x) const { return tan(x); }
};
FLAM_MAP(kTan, Tan, FloatTypes);

struct Asin {
  template <class V> FLAM_FN V operator()(V x) const { return in_loops::asin(x); }
};
FLAM_MAP(kAsin, Asin, FloatTypes);

struct Acos {
  template <class V> FLAM_FN V operator()(V x) const { return in_loops::acos(x); }
};
FLAM_MAP(kAcos, Acos, FloatTypes);

struct Atan {
  template <class V> FLAM_FN V operator()(V x) const { return in_loops::atan(x); }
};
FLAM_MAP(kAtan, Atan, FloatTypes);

struct Sinh {
  template <class V> FLAM_FN V operator()(V x) const { return in_loops::sinh(x); }
};
FLAM_MAP(kSinh, Sinh, FloatTypes);

struct Cosh {
  template <class V> FLAM_FN V operator()(V x) const { return in_loops::cosh(x); }
};
FLAM_MAP(kCosh, Cosh, FloatTypes);

struct Asinh {
  template <class V> FLAM_FN V operator()(V x) const { return in_loops::asinh(x); }
};
FLAM_MAP(kAsinh, Asinh, FloatTypes);

struct Acosh {
  template <class V> FLAM_FN V operator()(V x) const { return in_loops::acosh(x); }
};
FLAM_MAP(kAcosh, Acosh, FloatTypes);

struct Atanh {
  template <class V> FLAM_FN V operator()(V x) const { return in_loops::atanh(x); }
};
FLAM_MAP(kAtanh, Atanh, FloatTypes);

struct Tanh {
  template <class V> FLAM_FN V operator()(V x) const { return tanh(x); }
};
FLAM_MAP(kTanh, Tanh, FloatTypes);

struct UsualSigmoid {
  template <class V> FLAM_FN V operator()(V x) const { return usual_sigmoid(x); }
};
struct Sigmoid : UsualUpTo<16> {
  using Usual = UsualSigmoid;
  using UsualUpTo<16>::is_usual;
  template <class V>
    requires(kHasUsual && std::is_same_v<V, double>)
  FLAM_FN bool is_usual(V x) const {
    return fabs(x) <= 690;
  }
  template <bool kRough> using OnLanes = SigmoidOnLanes<kRough>;
  using OnWideLanes = SigmoidOnWideLanes;
  template <class V> FLAM_FN V operator()(V x) const { return sigmoid(x); }
};
FLAM_MAP(kSigmoid, Sigmoid, FloatTypes);

struct RoughErf {
  FLAM_FN float operator()(float x) const { return rough::erf(x); }
};
struct Erf {
  using Rough = RoughErf;
  template <class V> FLAM_FN V operator()(V x) const { return erf(x); }
};
FLAM_MAP(kErf, Erf, FloatTypes);
FLAM_MAP_EIGHTS(kErf, Erf, ErfOnEights);

struct Erfc {
  template <class V> FLAM_FN V operator()(V x) const { return erfc(x); }
};
FLAM_MAP(kErfc, Erfc, FloatTypes);
FLAM_MAP_EIGHTS(kErfc, Erfc, ErfcOnEights);

struct Square {
  using Brief = void;
  template <class V> FLAM_FN V operator()(V x) const { return V(x * x); }
};
FLAM_MAP(kSquare, Square, NumberTypes);

struct Cube {
  template <class V> FLAM_FN V operator()(V x) const { return x * x * x; }
};
FLAM_MAP(kCube, Cube, FloatTypes);

struct Floor {
  template <class V> FLAM_FN V operator()(V x) const {
    if constexpr (std::is_floating_point_v<V>) {
      return floor(x);
    } else {
      return x;
    }
  }
};
FLAM_MAP(kFloor, Floor, NumberTypes);

struct Ceil {
  template <class V> FLAM_FN V operator()(V x) const {
    if constexpr (std::is_floating_point_v<V>) {
      return ceil(x);
    } else {
      return x;
    }
  }
};
FLAM_MAP(kCeil, Ceil, NumberTypes);

struct Trunc {
  template <class V> FLAM_FN V operator()(V x) const {
    if constexpr (std::is_floating_point_v<V>) {
      return trunc(x);
    } else {
      return x;
    }
  }
};
FLAM_MAP(kTrunc, Trunc, NumberTypes);

struct Round {
  template <class V> FLAM_FN V operator()(V x) const {
    if constexpr (std::is_floating_point_v<V>) {
      return rint(x);
    } else {
      return x;
    }
  }
};
FLAM_MAP(kRound, Round, NumberTypes);

// Halves to even at the last decimal kept: by scaling, as torch does.
struct RoundDecimals {
  double scale, inverse;  // whether to divide by the scale before rounding
  template <class V> FLAM_FN V operator()(V x) const {
    return inverse != 0 ? rint(x / V(scale)) * V(scale) : rint(x * V(scale)) / V(scale);
  }
};
FLAM_MAP(kRoundDecimals, RoundDecimals, FloatTypes);

struct Frac {
  template <class V> FLAM_FN V operator()(V x) const { return x - trunc(x); }
};
FLAM_MAP(kFrac, Frac, FloatTypes);

struct Isnan {
  template <class V> FLAM_FN bool operator()(V x) const { return x != x; }
};
FLAM_MAP(kIsnan, Isnan, AllTypes);

struct Isinf {
  template <class V> FLAM_FN bool operator()(V x) const {
    if constexpr (std::is_floating_point_v<V>) {
      return fabs(x) == V(__builtin_huge_val());
    } else {
      return false;
    }
  }
};
FLAM_MAP(kIsinf, Isinf, AllTypes);

struct Isfinite {
  template <class V> FLAM_FN bool operator()(V x) const { return V(x - x) == V(0); }
};
FLAM_MAP(kIsfinite, Isfinite, AllTypes);

struct LogicalNot {
  template <class V> FLAM_FN bool operator()(V x) const { return x == V(0); }
};
FLAM_MAP(kLogicalNot, LogicalNot, AllTypes);

struct BitwiseNot {
  template <class V> FLAM_FN V operator()(V x) const {
    if constexpr (std::is_same_v<V, bool>) {
      return !x;
    } else {
      return V(~x);
    }
  }
};
FLAM_MAP(kBitwiseNot, BitwiseNot, IntBoolTypes);

// ---- gradients in one pass ----------------------------------------------------------------------

struct SigmoidSlope {
  template <class V> FLAM_FN V operator()(V dy, V y) const { return dy * y * (V(1) - y); }
};
FLAM_MAP(kSigmoidSlope, SigmoidSlope, FloatTypes);

struct TanhSlope {
  template <class V> FLAM_FN V operator()(V dy, V y) const { return dy * (V(1) - y * y); }
};
FLAM_MAP(kTanhSlope, TanhSlope, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
