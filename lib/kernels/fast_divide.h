// Division of 32-bit numbers by one that is known before a launch, as a multiplication and a shift:
// a GPU has no instruction for it. Exact for every number below 2^31. (Granlund and Montgomery,
// "Division by invariant integers using multiplication", 1994.)
#pragma once
#include <cstdint>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

// The product's upper half.
FLAM_FN uint32_t multiply_high(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __umulhi(a, b);
#else
  return uint32_t(uint64_t(a) * b >> 32);
#endif
}

}  // namespace flambeau::FLAM_TARGET

namespace flambeau {

struct FastDivide {
  uint32_t divisor = 1, factor = 1, shift = 0;

  FastDivide() = default;
  explicit FastDivide(int64_t d) : divisor(uint32_t(d)) {  // 1 <= d < 2^31
    while ((uint64_t{1} << shift) < divisor) ++shift;
    factor = uint32_t((((uint64_t{1} << shift) - divisor) << 32) / divisor + 1);
  }
};

}  // namespace flambeau

namespace flambeau::FLAM_TARGET {

FLAM_FN uint32_t quotient(uint32_t n, const FastDivide& by) {
  return (multiply_high(n, by.factor) + n) >> by.shift;
}

// The quotient; the rest stays in n.
FLAM_FN uint32_t divide(uint32_t& n, const FastDivide& by) {
  const uint32_t q = quotient(n, by);
  n -= q * by.divisor;
  return q;
}

}  // namespace flambeau::FLAM_TARGET
