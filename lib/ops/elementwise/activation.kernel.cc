// The maths of activations, each beside its slope.
#include "ops/elementwise/activation.h"

#include "kernels/map/map_eights.h"
#include "kernels/map/map_loop.h"
#include "kernels/math_gates.h"
#include "kernels/math_rough.h"
#include "ops/elementwise/activation_eights.h"
#include "ops/elementwise/activation_lanes.h"
#include "ops/elementwise/activation_math.h"
#include "ops/elementwise/saturated.h"
#include "ops/elementwise/slope_lanes.h"
#include "ops/elementwise/usual.h"

namespace flambeau::FLAM_TARGET {

struct Relu {
  template <class V> FLAM_FN V operator()(V x) const { return x > 0 || x != x ? x : V(0); }
};
struct ReluSlope {
  template <class V> FLAM_FN V operator()(V dy, V y) const { return y <= 0 ? V(0) : dy; }
};
FLAM_MAP(kRelu, Relu, NumberTypes);
FLAM_MAP(kReluSlope, ReluSlope, FloatTypes);

struct LeakyRelu {
  double slope;
  template <class V> FLAM_FN V operator()(V x) const { return x > 0 ? x : x * V(slope); }
};
struct LeakyReluSlope {
  double slope;
  template <class V> FLAM_FN V operator()(V dy, V x) const { return x > 0 ? dy : dy * V(slope); }
};
FLAM_MAP(kLeakyRelu, LeakyRelu, FloatTypes);
FLAM_MAP(kLeakyReluSlope, LeakyReluSlope, FloatTypes);

struct Elu {
  double alpha, scale, inner;
  template <class V> FLAM_FN V operator()(V x) const {
    return x > 0 ? x * V(scale) : expm1(x * V(inner)) * V(alpha * scale);
  }
};
struct UsualEluSlope {
  double alpha, scale, inner;
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    return x <= 0 ? dy * (usual_exp(x * V(inner)) * V(alpha * scale * inner)) : dy * V(scale);
  }
};
struct EluSlope {
  using Usual = UsualEluSlope;
  double alpha, scale, inner;
  template <UsualFloat V> FLAM_FN bool is_usual(V, V x) const { return fabs(x * V(inner)) <= 87; }
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    return x <= 0 ? dy * (exp(x * V(inner)) * V(alpha * scale * inner)) : dy * V(scale);
  }
};
FLAM_MAP(kElu, Elu, FloatTypes);
FLAM_MAP(kEluSlope, EluSlope, FloatTypes);

// ---- gaussian and logistic units ----------------------------------------------------------------

struct RoughGelu {
  FLAM_FN float operator()(float x) const { return rough::gelu(x); }
};
struct UsualGelu {
  template <class V> FLAM_FN V operator()(V x) const { return usual_gelu(x); }
};
struct Gelu : UsualUpTo<6> {
  using Usual = UsualGelu;
  template <bool kRough> using OnLanes = GeluOnLanes<kRough>;
  using Rough = RoughGelu;
  template <class V> FLAM_FN V operator()(V x) const { return gelu(x); }
};
struct GeluSlope {
  template <bool kRough> using OnLanes = GeluSlopeOnLanes<kRough>;
  template <class V> FLAM_FN V operator()(V dy, V x) const { return dy * gelu_slope(x); }
};
FLAM_MAP(kGelu, Gelu, FloatTypes);
FLAM_MAP_EIGHTS(kGelu, Gelu, GeluOnEights);
FLAM_MAP(kGeluSlope, GeluSlope, FloatTypes);

struct GeluTanh {
  template <class V> FLAM_FN V operator()(V x) const { return gelu_tanh(x); }
};
struct GeluTanhSlope {
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    const V s = sigmoid(gelu_tanh_logit(x));
    return dy * (s + x * s * (V(1) - s) * gelu_tanh_logit_slope(x));
  }
};
FLAM_MAP(kGeluTanh, GeluTanh, FloatTypes);
FLAM_MAP(kGeluTanhSlope, GeluTanhSlope, FloatTypes);

struct UsualSilu {
  template <class V> FLAM_FN V operator()(V x) const { return usual_silu(x); }
};
struct Silu : UsualUpTo<16> {
  using Usual = UsualSilu;
  template <bool kRough> using OnLanes = SiluOnLanes<kRough>;
  template <class V> FLAM_FN V operator()(V x) const { return silu(x); }
};
template <class V> FLAM_FN V silu_slope_of(V dy, V x, V s) {
  return dy * (s * (V(1) + x * (V(1) - s)));
}
struct UsualSiluSlope {
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    return silu_slope_of(dy, x, usual_sigmoid(x));
  }
};
struct SiluSlope {
  using Usual = UsualSiluSlope;
  template <bool kRough> using OnLanes = SiluSlopeOnLanes<kRough>;
  template <UsualFloat V> FLAM_FN bool is_usual(V, V x) const { return fabs(x) <= 16; }
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    return silu_slope_of(dy, x, sigmoid(x));
  }
};
FLAM_MAP(kSilu, Silu, FloatTypes);
FLAM_MAP(kSiluSlope, SiluSlope, FloatTypes);

struct Mish {
  template <class V> FLAM_FN V operator()(V x) const { return mish(x); }
};
struct MishSlope {
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    const V t = tanh(log1p(exp(x)));
    return dy * (t + x * (V(1) - t * t) * sigmoid(x));
  }
};
FLAM_MAP(kMish, Mish, FloatTypes);
FLAM_MAP(kMishSlope, MishSlope, FloatTypes);

struct UsualSoftplus {
  double beta, limit;
  template <class V> FLAM_FN V operator()(V x) const {
    const V z = x * V(beta);
    return z > V(limit) ? x : usual_softplus(z) / V(beta);
  }
};
struct Softplus {
  using Usual = UsualSoftplus;
  double beta, limit;
  template <UsualFloat V> FLAM_FN bool is_usual(V x) const { return fabs(x * V(beta)) <= 87; }
  template <class V> FLAM_FN V operator()(V x) const {
    const V z = x * V(beta);
    return z > V(limit) ? x : softplus(z) / V(beta);
  }
};
struct SoftplusSlope {
  template <bool kRough> using OnLanes = SoftplusSlopeOnLanes<kRough>;
  double beta, limit;
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    const V z = x * V(beta);
    return z > V(limit) ? dy : dy * gate_sigmoid(z);
  }
};
FLAM_MAP(kSoftplus, Softplus, FloatTypes);
FLAM_MAP(kSoftplusSlope, SoftplusSlope, FloatTypes);

struct UsualLogsigmoid {
  template <class V> FLAM_FN V operator()(V x) const { return V(0) - usual_softplus(-x); }
};
struct Logsigmoid : UsualUpTo<87> {
  using Usual = UsualLogsigmoid;
  template <class V> FLAM_FN V operator()(V x) const { return V(0) - softplus(-x); }
};
struct LogsigmoidSlope {
  template <bool kRough> using OnLanes = LogsigmoidSlopeOnLanes<kRough>;
  template <class V> FLAM_FN V operator()(V dy, V x) const { return dy * gate_sigmoid(-x); }
};
FLAM_MAP(kLogsigmoid, Logsigmoid, FloatTypes);
FLAM_MAP(kLogsigmoidSlope, LogsigmoidSlope, FloatTypes);

// ---- piecewise linear ---------------------------------------------------------------------------

struct Hardtanh {
  double low, high;
  template <class V> FLAM_FN V operator()(V x) const {
    const V least = saturated<V>(low), greatest = saturated<V>(high);
    const V raised = x < least ? least : x;
    return raised > greatest ? greatest : raised;
  }
};
struct HardtanhSlope {
  double low, high;
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    return (x <= V(low)) | (x >= V(high)) ? V(0) : dy;  // NaN is between
  }
};
FLAM_MAP(kHardtanh, Hardtanh, NumberTypes);
FLAM_MAP(kHardtanhSlope, HardtanhSlope, FloatTypes);

// A sixth as a division has it, by a product in two parts where that needs no rounding more.
template <class V> FLAM_FN V sixth(V x) {
  if constexpr (kHasUsual && std::is_same_v<V, float>) {
    return basic::multiply_add(x, 0x1.555556p-3f, x * -0x1.555556p-28f);
  } else {
    return x / V(6);
  }
}
// Of x + 3 between 0 and 6; the ends last, because the compiler does arithmetic on constants that
// are chosen first once more.
template <class V> FLAM_FN V ramp(V x, V low, V middle, V high) {
  const V y = x >= V(3) ? high : middle;
  return x <= V(-3) ? low : y;
}
struct Hardsigmoid {
  template <class V> FLAM_FN V operator()(V x) const {
    return ramp(x, V(0), sixth(x + V(3)), V(1));
  }
};
struct HardsigmoidSlope {
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    return (x > V(-3)) & (x < V(3)) ? dy / V(6) : V(0);
  }
};
FLAM_MAP(kHardsigmoid, Hardsigmoid, FloatTypes);
FLAM_MAP(kHardsigmoidSlope, HardsigmoidSlope, FloatTypes);

struct Hardswish {
  template <class V> FLAM_FN V operator()(V x) const {
    return ramp(x, x * V(0), x * sixth(x + V(3)), x);
  }
};
struct HardswishSlope {
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    const V inner = x <= V(-3) ? V(0) : x / V(3) + V(0.5);
    return dy * (x < V(3) ? inner : V(1));  // of NaN 1, as PyTorch has it
  }
};
FLAM_MAP(kHardswish, Hardswish, FloatTypes);
FLAM_MAP(kHardswishSlope, HardswishSlope, FloatTypes);

struct Softsign {
  template <class V> FLAM_FN V operator()(V x) const { return x / (V(1) + fabs(x)); }
};
struct SoftsignSlope {
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    const V size = V(1) + fabs(x);
    return dy / (size * size);
  }
};
FLAM_MAP(kSoftsign, Softsign, FloatTypes);
FLAM_MAP(kSoftsignSlope, SoftsignSlope, FloatTypes);

struct Tanhshrink {
  template <class V> FLAM_FN V operator()(V x) const { return tanhshrink(x); }
};
struct TanhshrinkSlope {
  template <bool kRough> using OnLanes = TanhshrinkSlopeOnLanes<kRough>;
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    const V t = tanh(x);
    return dy * (t * t);
  }
};
FLAM_MAP(kTanhshrink, Tanhshrink, FloatTypes);
FLAM_MAP(kTanhshrinkSlope, TanhshrinkSlope, FloatTypes);

struct Threshold {
  double at, value;
  template <class V> FLAM_FN V operator()(V x) const { return x <= V(at) ? V(value) : x; }
};
struct ThresholdSlope {
  double at;
  template <class V> FLAM_FN V operator()(V dy, V x) const { return x <= V(at) ? V(0) : dy; }
};
FLAM_MAP(kThreshold, Threshold, NumberTypes);
FLAM_MAP(kThresholdSlope, ThresholdSlope, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
