// Activations with a learned slope, a gate or a dead zone. A NaN stays one.
#include "ops/elementwise/shrink.h"
#include "kernels/map/map_loop.h"
#include "kernels/math.h"
#include "ops/elementwise/slope_lanes.h"
#include "ops/elementwise/usual.h"

namespace flambeau::FLAM_TARGET {

struct Hardshrink {
  double lambd;
  template <class V> FLAM_FN V operator()(V x) const {
    return (x >= V(-lambd)) & (x <= V(lambd)) ? V(0) : x;
  }
};
struct Softshrink {
  double lambd;
  template <class V> FLAM_FN V operator()(V x) const {
    const V above = x > V(lambd) ? x - V(lambd) : x * V(0);
    return x < V(-lambd) ? x + V(lambd) : above;
  }
};
struct ShrinkSlope {
  double lambd;
  template <class V> FLAM_FN V operator()(V dy, V x) const {
    return (x >= V(-lambd)) & (x <= V(lambd)) ? V(0) : dy;
  }
};
FLAM_MAP(kHardshrink, Hardshrink, FloatTypes);
FLAM_MAP(kSoftshrink, Softshrink, FloatTypes);
FLAM_MAP(kShrinkSlope, ShrinkSlope, FloatTypes);

struct Prelu {
  template <class V> FLAM_FN V operator()(V x, V weight) const { return x > V(0) ? x : weight * x; }
};
struct PreluSlope {
  template <class V> FLAM_FN V operator()(V dy, V x, V weight) const {
    return x > V(0) ? dy : weight * dy;
  }
};
FLAM_MAP(kPrelu, Prelu, FloatTypes);
FLAM_MAP(kPreluSlope, PreluSlope, FloatTypes);

struct UsualGlu {
  template <class V> FLAM_FN V operator()(V x, V gate) const { return x * usual_sigmoid(gate); }
};
struct Glu {
  using Usual = UsualGlu;
  template <bool kRough> using OnLanes = GluOnLanes<kRough>;
  template <UsualFloat V> FLAM_FN bool is_usual(V, V gate) const { return fabs(gate) <= 16; }
  template <class V> FLAM_FN V operator()(V x, V gate) const { return x * sigmoid(gate); }
};
template <class V> FLAM_FN V gate_slope_of(V dy, V x, V s) { return dy * x * (s * (V(1) - s)); }
struct UsualGateSlope {
  template <class V> FLAM_FN V operator()(V dy, V x, V gate) const {
    return gate_slope_of(dy, x, usual_sigmoid(gate));
  }
};
struct GateSlope {
  using Usual = UsualGateSlope;
  template <bool kRough> using OnLanes = GateSlopeOnLanes<kRough>;
  template <UsualFloat V> FLAM_FN bool is_usual(V, V, V gate) const { return fabs(gate) <= 16; }
  template <class V> FLAM_FN V operator()(V dy, V x, V gate) const {
    return gate_slope_of(dy, x, sigmoid(gate));
  }
};
FLAM_MAP(kGlu, Glu, FloatTypes);
FLAM_MAP(kGateSlope, GateSlope, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
