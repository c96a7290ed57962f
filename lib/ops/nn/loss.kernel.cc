// The maths of elementwise losses and their slopes. The first member of each is the factor of a
// mean, which only the slopes use.
#include "ops/nn/loss.h"

#include "kernels/map/map_loop.h"
#include "kernels/math.h"
#include "ops/elementwise/slope_lanes.h"
#include "ops/elementwise/usual.h"

namespace flambeau::FLAM_TARGET {

struct Mse {
  template <class V> FLAM_FN V operator()(V x, V t) const { return (x - t) * (x - t); }
};
struct MseSlope {
  double factor;
  template <class V> FLAM_FN V operator()(V dy, V x, V t) const {
    return V(2 * factor) * dy * (x - t);
  }
};
FLAM_MAP(kMse, Mse, FloatTypes);
FLAM_MAP(kMseSlope, MseSlope, FloatTypes);

template <class V> FLAM_FN V sign_of(V d) { return V(d > 0) - V(d < 0); }

struct L1 {
  template <class V> FLAM_FN V operator()(V x, V t) const { return fabs(x - t); }
};
struct L1Slope {
  double factor;
  template <class V> FLAM_FN V operator()(V dy, V x, V t) const {
    return V(factor) * dy * sign_of(x - t);
  }
};
FLAM_MAP(kL1, L1, FloatTypes);
FLAM_MAP(kL1Slope, L1Slope, FloatTypes);

struct SmoothL1 {
  double factor, beta;
  template <class V> FLAM_FN V operator()(V x, V t) const {
    const V d = fabs(x - t), b = V(beta);
    return d < b ? V(0.5) * d * d / b : d - V(0.5) * b;
  }
};
struct SmoothL1Slope {
  double factor, beta;
  template <class V> FLAM_FN V operator()(V dy, V x, V t) const {
    const V d = x - t, g = V(factor) * dy;
    return fabs(d) >= V(beta) ? g * sign_of(d) : g * d / V(beta);
  }
};
FLAM_MAP(kSmoothL1, SmoothL1, FloatTypes);
FLAM_MAP(kSmoothL1Slope, SmoothL1Slope, FloatTypes);

struct Huber {
  double factor, delta;
  template <class V> FLAM_FN V operator()(V x, V t) const {
    const V d = fabs(x - t), b = V(delta);
    return d <= b ? V(0.5) * d * d : b * (d - V(0.5) * b);
  }
};
struct HuberSlope {
  double factor, delta;
  template <class V> FLAM_FN V operator()(V dy, V x, V t) const {
    const V d = x - t, b = V(delta), limited = d > b ? b : d < -b ? -b : d;
    return V(factor) * dy * limited;
  }
};
FLAM_MAP(kHuber, Huber, FloatTypes);
FLAM_MAP(kHuberSlope, HuberSlope, FloatTypes);

struct Bce {
  template <class V> FLAM_FN V operator()(V p, V t) const {
    const V log_p = log(p), log_q = log1p(-p), least = V(-100);
    return (t - V(1)) * (log_q < least ? least : log_q) - t * (log_p < least ? least : log_p);
  }
};
struct BceSlope {
  double factor;
  template <class V> FLAM_FN V operator()(V dy, V p, V t) const {
    const V spread = (V(1) - p) * p, least = V(1e-12);
    return V(factor) * dy * (p - t) / (spread < least ? least : spread);
  }
};
FLAM_MAP(kBce, Bce, FloatTypes);
FLAM_MAP(kBceSlope, BceSlope, FloatTypes);

struct BceLogits {
  template <class V> FLAM_FN V operator()(V x, V t) const {
    return (V(1) - t) * x + log1p(exp(-fabs(x))) + (x < 0 ? -x : V(0));
  }
};
struct UsualBceLogitsSlope {
  double factor;
  template <class V> FLAM_FN V operator()(V dy, V x, V t) const {
    return V(factor) * dy * (usual_sigmoid(x) - t);
  }
};
struct BceLogitsSlope {
  using Usual = UsualBceLogitsSlope;
  template <bool kRough> using OnLanes = BceLogitsSlopeOnLanes<kRough>;
  double factor;
  template <UsualFloat V> FLAM_FN bool is_usual(V, V x, V) const { return fabs(x) <= 16; }
  template <class V> FLAM_FN V operator()(V dy, V x, V t) const {
    return V(factor) * dy * (sigmoid(x) - t);
  }
};
FLAM_MAP(kBceLogits, BceLogits, FloatTypes);
FLAM_MAP(kBceLogitsSlope, BceLogitsSlope, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
