// What elements are computed in while they are resampled, and how they become elements again. Bytes
// are floats or, where weights have too many digits for exact sums, doubles, and the nearest byte
// in the end, as torch makes it from integers.
#pragma once
#include "kernels/resample/resample.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class T>
using BandValue = std::conditional_t<std::is_integral_v<T>, float, Compute<T>>;

template <class T, class C> FLAM_FN T resampled(C v) {
  if constexpr (std::is_integral_v<T>) {
    v = v < 0 ? C(0) : v;
    v = v > 255 ? C(255) : v;
    return T(int32_t(v + C(0.5)));
  } else {
    return narrow<T>(v);
  }
}

}  // namespace flambeau::FLAM_TARGET
