// Whether the gradient of a number's quotient is told by the result y = a / x, as -y * y / a: then
// x is not kept, and a program may write it between forward and backward, as 1 / x in PyTorch lets.
#pragma once
#include <cmath>

#include "ops/elementwise/complex.h"
#include "ops/read.h"
#include "tensor/parts.h"

namespace flambeau::ops {

// Not of 0 and of what is not finite, whose quotients are the same for all x. Where |a| < 1 a
// quotient in f16 may be too small for its digits although its slope is not.
inline bool tells_divisor(const Tensor& a, Dtype dtype) {
  if (!a.is_wrapped_number()) return false;
  const double size = has_complex(a)
                          ? std::hypot(read_number(real_of(a)), read_number(part_of(a, 1)))
                          : std::fabs(read_number(a));
  return std::isfinite(size) && size >= (dtype == Dtype::f16 ? 1.0 : 1e-30);
}

}  // namespace flambeau::ops
