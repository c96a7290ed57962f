// The maths of elementwise operations of two operands.
#include "kernels/binary.h"
#include "kernels/map_loop.h"

namespace flambeau::FLAM_TARGET {

struct Add {
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
  template <class V> FLAM_FN V operator()(V a, V b) const { return V(a - b); }
};
FLAM_MAP(kSub, Sub, NumberTypes);

struct Mul {
  template <class V> FLAM_FN V operator()(V a, V b) const {
    if constexpr (std::is_same_v<V, bool>) {
      return a && b;
    } else {
      return V(a * b);
    }
  }
};
FLAM_MAP(kMul, Mul, AllTypes);

}  // namespace flambeau::FLAM_TARGET
