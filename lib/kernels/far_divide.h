// Division of 64-bit numbers by one that is known before a launch, as a multiplication and a shift:
// on a GPU a call of some hundred instructions otherwise. Exact for every number below 2^63. Where
// all numbers are below 2^31, fast_divide.h takes less. (Granlund and Montgomery, "Division by
// invariant integers using multiplication", 1994.)
#pragma once
#include <cstdint>

#include "kernels/types.h"

namespace flambeau {

struct FarDivide {
  uint64_t divisor = 1, factor = 1;
  uint32_t shift = 0;

  FarDivide() = default;
  explicit FarDivide(int64_t d) : divisor(uint64_t(d)) {  // 1 <= d
    __extension__ using Wide = unsigned __int128;
    while ((uint64_t{1} << shift) < divisor) ++shift;
    const uint64_t above = (uint64_t{1} << shift) - divisor;
    if (above) factor = uint64_t((Wide(above) << 64) / divisor + 1);
  }
};

}  // namespace flambeau

namespace flambeau::FLAM_TARGET {

FLAM_FN int64_t quotient(int64_t n, const FarDivide& by) {
#if defined(__CUDA_ARCH__)
  const uint64_t high = __umul64hi(uint64_t(n), by.factor);
#else
  __extension__ using Wide = unsigned __int128;
  const uint64_t high = uint64_t(Wide(uint64_t(n)) * by.factor >> 64);
#endif
  return int64_t((high + uint64_t(n)) >> by.shift);
}

// The quotient; the rest stays in n.
FLAM_FN int64_t divide(int64_t& n, const FarDivide& by) {
  const int64_t q = quotient(n, by);
  n -= q * int64_t(by.divisor);
  return q;
}

}  // namespace flambeau::FLAM_TARGET
