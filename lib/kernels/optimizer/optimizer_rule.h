// What rules are made of that update one element at a time. A rule is made once per chunk from the
// options: scalars are formed in double, as Python does, and used in the compute type, as torch's
// tensors do. update() says whether it met a value that is not finite.
#pragma once
#include "kernels/math.h"
#include "kernels/optimizer/optimizer.h"

namespace flambeau::FLAM_TARGET {

template <class T> struct Values {  // of one parameter
  T *param, *grad, *first, *second, *third;
};

template <class T> FLAM_FN Values<T> values_at(const ListEntry& e, int64_t i) {
  const auto at = [&](char* p) { return p ? reinterpret_cast<T*>(p) + i : nullptr; };
  return {at(e.param), at(e.grad), at(e.first), at(e.second), at(e.third)};
}

FLAM_FN double rate_of(const ListArgs& a) { return a.lr ? double(*a.lr) : a.options[kOptLr]; }

// Whether a rule knows the third state, which few programs ask for.
template <class R> inline constexpr bool kHasThird = requires { R::has_third; };

// What most rules do to a gradient before they use it.
template <class V> struct Gradient {
  V decay, sign, unscale;

  FLAM_FN explicit Gradient(const ListArgs& a, bool decoupled = false)
      : decay(V(decoupled ? 0 : a.options[kOptWeightDecay])),
        sign(a.options[kOptMaximize] != 0 ? V(-1) : V(1)),
        unscale(a.grad_scale ? V(*a.grad_scale) : V(1)) {}

  FLAM_FN V operator()(V g, V p) const {
    g = (unscale != 1 ? g / unscale : g) * sign;
    return decay != 0 ? g + decay * p : g;
  }
};

template <class V> FLAM_FN V lerp(V from, V to, V share) {  // from the nearer end
  return share < V(0.5) ? from + share * (to - from) : to - (to - from) * (1 - share);
}

template <class V> FLAM_FN V greater(V x, V y) { return x > y || x != x ? x : y; }  // NaN stays

// What a rule's `Count` does to a parameter's cells once all of its elements have stepped: they see
// the cells of the step before.
struct CountSteps {
  FLAM_FN static void advance(const ListArgs&, const ListEntry& e) { *e.step += 1; }
};
template <class R> inline constexpr bool kCounts = requires { typename R::Count; };

// The number of the step that is made, from 1.
FLAM_FN double step_of(const ListEntry& e) { return double(*e.step + 1); }

// Of either kind of list: the tensor that a chunk belongs to.
template <class Args> FLAM_FN int entry_of_chunk(const Args& a, int32_t chunk) {
  int low = 0, high = a.tensors - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (a.entry[middle].first_chunk <= chunk) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace flambeau::FLAM_TARGET
