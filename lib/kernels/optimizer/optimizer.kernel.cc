// Gradient descent, Adam, unscaling and scaling of gradients, one element at a time.
#include "kernels/optimizer/clip.h"
#include "kernels/optimizer/optimizer_loop.h"

namespace flambeau::FLAM_TARGET {

template <class T> struct Sgd {
  using V = Compute<T>;
  Gradient<V> gradient;
  V lr, momentum, keep;
  bool nesterov, fresh;

  FLAM_FN Sgd(const ListArgs& a, const ListEntry& e)
      : gradient(a),
        lr(V(rate_of(a))),
        momentum(V(a.options[kOptMomentum])),
        keep(V(1 - a.options[kOptDampening])),
        nesterov(a.options[kOptNesterov] != 0),
        fresh(e.fresh != 0) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i);
    V g = gradient(load(at.grad + i), p);
    if (momentum != 0) {
      const V m = fresh ? g : load(at.first + i) * momentum + keep * g;
      at.first[i] = narrow<T>(m);
      g = nesterov ? g + momentum * m : m;
    }
    at.param[i] = narrow<T>(p - lr * g);
    return 0;
  }
};

template <class T> struct Adam {
  using Count = CountSteps;
  static constexpr bool has_third = true;
  using V = Compute<T>;
  Gradient<V> gradient;
  V toward, beta2, rest2, eps, shrink, step_size, root_correction;

  FLAM_FN Adam(const ListArgs& a, const ListEntry& e) : gradient(a, a.options[kOptDecoupled] != 0) {
    const double rate = rate_of(a), steps = step_of(e);
    const double b1 = a.options[kOptBeta1], b2 = a.options[kOptBeta2];
    toward = V(1 - b1);
    beta2 = V(b2);
    rest2 = V(1 - b2);
    eps = V(a.options[kOptEps]);
    shrink = V(a.options[kOptDecoupled] != 0 ? 1 - rate * a.options[kOptWeightDecay] : 1);
    step_size = V(rate / (1 - ::pow(b1, steps)));
    root_correction = V(::sqrt(1 - ::pow(b2, steps)));
  }

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i) * shrink;
    const V g = gradient(load(at.grad + i), p), m = lerp(load(at.first + i), g, toward);
    V v = load(at.second + i) * beta2 + rest2 * g * g;
    at.first[i] = narrow<T>(m);
    at.second[i] = narrow<T>(v);
    if (at.third) {  // amsgrad
      v = greater(v, load(at.third + i));
      at.third[i] = narrow<T>(v);
    }
    at.param[i] = narrow<T>(p - step_size * m / (sqrt(v) / root_correction + eps));
    return 0;
  }
};

template <class T> struct UnscaleList {
  Compute<T> factor;

  FLAM_FN UnscaleList(const ListArgs& a, const ListEntry&)
      : factor(Compute<T>(1 / double(*a.grad_scale))) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const Compute<T> x = load(at.param + i);
    at.param[i] = narrow<T>(x * factor);
    return x - x != 0;
  }
};

template <class T> struct ScaleList {
  Compute<T> factor;

  FLAM_FN ScaleList(const ListArgs& a, const ListEntry&) : factor(Compute<T>(*a.grad_scale)) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    at.param[i] = narrow<T>(load(at.param + i) * factor);
    return 0;
  }
};

[[maybe_unused]] static const bool registered_optimizers =
    register_list<Sgd>(kSgd, FloatTypes{}) && register_list<Adam>(kAdam, FloatTypes{}) &&
    register_list<UnscaleList>(kUnscaleList, FloatTypes{}) &&
    register_list<ScaleList>(kScaleList, FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
