// RMSprop, Adagrad, Adadelta, Adamax, NAdam, RAdam, ASGD and Rprop, one element at a time.
#include "kernels/optimizer/optimizer_loop.h"

namespace flambeau::FLAM_TARGET {

template <class T> struct RmsProp {
  using Count = CountSteps;
  static constexpr bool has_third = true;
  using V = Compute<T>;
  Gradient<V> gradient;
  V lr, alpha, rest, eps, momentum;

  FLAM_FN RmsProp(const ListArgs& a, const ListEntry&)
      : gradient(a),
        lr(V(rate_of(a))),
        alpha(V(a.options[kOptAlpha])),
        rest(V(1 - a.options[kOptAlpha])),
        eps(V(a.options[kOptEps])),
        momentum(V(a.options[kOptRmsMomentum])) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i), g = gradient(load(at.grad + i), p);
    const V square = load(at.first + i) * alpha + rest * g * g;
    at.first[i] = narrow<T>(square);
    V spread = square;
    if (at.third) {  // centered
      const V mean = lerp(load(at.third + i), g, rest);
      at.third[i] = narrow<T>(mean);
      spread = square - mean * mean;
    }
    const V root = sqrt(spread) + eps;
    if (momentum > 0) {
      const V m = load(at.second + i) * momentum + g / root;
      at.second[i] = narrow<T>(m);
      at.param[i] = narrow<T>(p - lr * m);
    } else {
      at.param[i] = narrow<T>(p - lr * g / root);
    }
    return 0;
  }
};

template <class T> struct Adagrad {
  using Count = CountSteps;
  using V = Compute<T>;
  Gradient<V> gradient;
  V rate, eps;

  FLAM_FN Adagrad(const ListArgs& a, const ListEntry& e)
      : gradient(a),
        rate(V(rate_of(a) / (1 + (step_of(e) - 1) * a.options[kOptLrDecay]))),
        eps(V(a.options[kOptEps])) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i), g = gradient(load(at.grad + i), p);
    const V sum = load(at.first + i) + g * g;
    at.first[i] = narrow<T>(sum);
    at.param[i] = narrow<T>(p - rate * g / (sqrt(sum) + eps));
    return 0;
  }
};

template <class T> struct Adadelta {
  using Count = CountSteps;
  using V = Compute<T>;
  Gradient<V> gradient;
  V lr, rho, rest, eps;

  FLAM_FN Adadelta(const ListArgs& a, const ListEntry&)
      : gradient(a),
        lr(V(rate_of(a))),
        rho(V(a.options[kOptRho])),
        rest(V(1 - a.options[kOptRho])),
        eps(V(a.options[kOptEps])) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i), g = gradient(load(at.grad + i), p);
    const V square = load(at.first + i) * rho + rest * g * g, acc = load(at.second + i);
    const V delta = sqrt(acc + eps) / sqrt(square + eps) * g;
    at.first[i] = narrow<T>(square);
    at.second[i] = narrow<T>(acc * rho + rest * delta * delta);
    at.param[i] = narrow<T>(p - lr * delta);
    return 0;
  }
};

template <class T> struct Adamax {
  using Count = CountSteps;
  using V = Compute<T>;
  Gradient<V> gradient;
  V toward, beta2, eps, rate;

  FLAM_FN Adamax(const ListArgs& a, const ListEntry& e)
      : gradient(a),
        toward(V(1 - a.options[kOptBeta1])),
        beta2(V(a.options[kOptBeta2])),
        eps(V(a.options[kOptEps])),
        rate(V(rate_of(a) / (1 - ::pow(a.options[kOptBeta1], step_of(e))))) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i), g = gradient(load(at.grad + i), p);
    const V m = lerp(load(at.first + i), g, toward);
    const V u = greater(load(at.second + i) * beta2, fabs(g) + eps);
    at.first[i] = narrow<T>(m);
    at.second[i] = narrow<T>(u);
    at.param[i] = narrow<T>(p - rate * m / u);
    return 0;
  }
};

// NAdam's momentum at a step; its product over all steps lies in the entry's cell.
FLAM_FN double nadam_momentum(const ListArgs& a, double step) {
  return a.options[kOptBeta1] * (1 - 0.5 * ::pow(0.96, step * a.options[kOptMomentumDecay]));
}

FLAM_FN float nadam_product(const ListArgs& a, const ListEntry& e) {
  return *e.cell * float(nadam_momentum(a, step_of(e)));
}

struct CountNadam {
  FLAM_FN static void advance(const ListArgs& a, const ListEntry& e) {
    *e.cell = nadam_product(a, e);
    *e.step += 1;
  }
};

template <class T> struct Nadam {
  using Count = CountNadam;
  using V = Compute<T>;
  Gradient<V> gradient;
  V toward, beta2, rest2, eps, shrink, correction2, by_grad, by_mean;

  FLAM_FN Nadam(const ListArgs& a, const ListEntry& e)
      : gradient(a, a.options[kOptDecoupled] != 0) {
    const double rate = rate_of(a), step = step_of(e), product = double(nadam_product(a, e));
    const double next = nadam_momentum(a, step + 1), b2 = a.options[kOptBeta2];
    toward = V(1 - a.options[kOptBeta1]);
    beta2 = V(b2);
    rest2 = V(1 - b2);
    eps = V(a.options[kOptEps]);
    shrink = V(a.options[kOptDecoupled] != 0 ? 1 - rate * a.options[kOptWeightDecay] : 1);
    correction2 = V(1 - ::pow(b2, step));
    by_grad = V(rate * (1 - nadam_momentum(a, step)) / (1 - product));
    by_mean = V(rate * next / (1 - product * next));
  }

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i) * shrink, g = gradient(load(at.grad + i), p);
    const V m = lerp(load(at.first + i), g, toward);
    const V v = load(at.second + i) * beta2 + rest2 * g * g;
    at.first[i] = narrow<T>(m);
    at.second[i] = narrow<T>(v);
    const V root = sqrt(v / correction2) + eps;
    at.param[i] = narrow<T>(p - by_grad * g / root - by_mean * m / root);
    return 0;
  }
};

template <class T> struct Radam {
  using Count = CountSteps;
  using V = Compute<T>;
  Gradient<V> gradient;
  V toward, beta2, rest2, eps, shrink, lr, correction1, root2, rectify;
  bool rectified;  // the variance of the adaptive rate can be estimated

  FLAM_FN Radam(const ListArgs& a, const ListEntry& e)
      : gradient(a, a.options[kOptDecoupled] != 0) {
    const double rate = rate_of(a), step = step_of(e), b2 = a.options[kOptBeta2];
    const double power = ::pow(b2, step), correction2 = 1 - power, most = 2 / (1 - b2) - 1;
    const double length = most - 2 * step * power / correction2;
    toward = V(1 - a.options[kOptBeta1]);
    beta2 = V(b2);
    rest2 = V(1 - b2);
    eps = V(a.options[kOptEps]);
    shrink = V(a.options[kOptDecoupled] != 0 ? 1 - rate * a.options[kOptWeightDecay] : 1);
    lr = V(rate);
    correction1 = V(1 - ::pow(a.options[kOptBeta1], step));
    root2 = V(::sqrt(correction2));
    rectified = length > 5;
    rectify = V(
        rectified ? ::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
                  : 1);
  }

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i) * shrink, g = gradient(load(at.grad + i), p);
    const V m = lerp(load(at.first + i), g, toward);
    const V v = load(at.second + i) * beta2 + rest2 * g * g;
    at.first[i] = narrow<T>(m);
    at.second[i] = narrow<T>(v);
    const V step = m / correction1 * lr;
    const V scale = rectified ? (1 / (sqrt(v) + eps)) * root2 : V(1);
    at.param[i] = narrow<T>(p - step * scale * rectify);
    return 0;
  }
};

// ASGD's next rate and share of the average, in the entry's two cells.
struct CountAsgd {
  FLAM_FN static void advance(const ListArgs& a, const ListEntry& e) {
    *e.step += 1;
    const double step = double(*e.step), lr = rate_of(a), past = step - a.options[kOptT0];
    *e.cell = float(lr / ::pow(1 + a.options[kOptLambd] * lr * step, a.options[kOptAsgdAlpha]));
    *e.cell2 = float(1 / (past > 1 ? past : 1));
  }
};

template <class T> struct Asgd {
  using Count = CountAsgd;
  using V = Compute<T>;
  Gradient<V> gradient;
  V shrink, eta, share;

  FLAM_FN Asgd(const ListArgs& a, const ListEntry& e)
      : gradient(a),
        shrink(V(1 - a.options[kOptLambd] * double(*e.cell))),
        eta(V(*e.cell)),
        share(V(*e.cell2)) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V before = load(at.param + i), g = gradient(load(at.grad + i), before);
    const V p = before * shrink - eta * g, mean = load(at.first + i);
    at.param[i] = narrow<T>(p);
    at.first[i] = narrow<T>(share != 1 ? mean + (p - mean) * share : p);
    return 0;
  }
};

template <class T> struct Rprop {
  using Count = CountSteps;
  using V = Compute<T>;
  Gradient<V> gradient;
  V minus, plus, least, most;

  FLAM_FN Rprop(const ListArgs& a, const ListEntry&)
      : gradient(a, true),
        minus(V(a.options[kOptEtaMinus])),
        plus(V(a.options[kOptEtaPlus])),
        least(V(a.options[kOptStepMin])),
        most(V(a.options[kOptStepMax])) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i);
    V g = gradient(load(at.grad + i), p);
    const V turn = g * load(at.first + i);
    V size = load(at.second + i) * (turn > 0 ? plus : turn < 0 ? minus : V(1));
    size = size < least ? least : size;
    size = size > most ? most : size;
    g = turn < 0 ? V(0) : g;
    at.first[i] = narrow<T>(g);
    at.second[i] = narrow<T>(size);
    at.param[i] = narrow<T>(g > 0 ? p - size : g < 0 ? p + size : p);
    return 0;
  }
};

[[maybe_unused]] static const bool registered_adaptive =
    register_list<RmsProp>(kRmsProp, FloatTypes{}) &&
    register_list<Adagrad>(kAdagrad, FloatTypes{}) &&
    register_list<Adadelta>(kAdadelta, FloatTypes{}) &&
    register_list<Adamax>(kAdamax, FloatTypes{}) && register_list<Nadam>(kNadam, FloatTypes{}) &&
    register_list<Radam>(kRadam, FloatTypes{}) && register_list<Asgd>(kAsgd, FloatTypes{}) &&
    register_list<Rprop>(kRprop, FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
