// Numbers as bounds of elements, in kernels of clamps.
#pragma once
#include <limits>
#include <type_traits>

#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

// A number as a V: integers take the nearest value that they have.
template <class V> FLAM_FN V saturated(double v) {
  if constexpr (std::is_integral_v<V>) {
    constexpr V least = std::numeric_limits<V>::min(), greatest = std::numeric_limits<V>::max();
    return v <= double(least) ? least : v >= double(greatest) ? greatest : V(v);
  } else {
    return V(v);
  }
}

}  // namespace flambeau::FLAM_TARGET
