// Activations with a learned slope, a gate or a dead zone. A NaN stays one.
#include "ops/elementwise/shrink.h"
#include "kernels/map/map_loop.h"
#include "kernels/math.h"

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

}  // namespace flambeau::FLAM_TARGET
