// Kernels of complex arithmetic, which take the parts of numbers as reals, and what operations that
// reals have, too, do with complex operands.
#pragma once
#include "kernels/kernel.h"
#include "ops/ops.h"

namespace flambeau {

// (real, imag) of both factors, or of dividend and divisor
inline constinit Kernel kComplexMulReal{"mul"}, kComplexMulImag{"mul"};
inline constinit Kernel kComplexDivReal{"div"}, kComplexDivImag{"div"};
inline constinit Kernel kComplexSqrtReal{"sqrt"}, kComplexSqrtImag{"sqrt"};  // (real, imag)
inline constinit Kernel kDirection{"sgn"};                                   // (part, length)

namespace ops {

inline bool has_complex(const Tensor& a) { return is_complex(a.dtype()); }
inline bool has_complex(const Tensor& a, const Tensor& b) {
  return has_complex(a) || has_complex(b);
}

// The operations of the same names where an operand is complex.
namespace of_complex {

Tensor mul(const Tensor& a, const Tensor& b, Into into);
Tensor div(const Tensor& a, const Tensor& b, Into into);
Tensor abs(const Tensor& x, Into into);
Tensor reciprocal(const Tensor& x, Into into);
Tensor exp(const Tensor& x, Into into);
Tensor log(const Tensor& x, Into into);
Tensor sqrt(const Tensor& x, Into into);
Tensor pow(const Tensor& x, const Tensor& exponent, Into into);
Tensor eq(const Tensor& a, const Tensor& b, Into into);
Tensor ne(const Tensor& a, const Tensor& b, Into into);
Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan);
Tensor either(const Op& op, const Tensor& x, Tensor (*test)(const Tensor&));  // of its parts
Tensor both(const Op& op, const Tensor& x, Tensor (*test)(const Tensor&));

// f(a, b) where f is linear in both and made for reals, as matrix products are.
template <class F> Tensor bilinear(const Tensor& a, const Tensor& b, F&& f) {
  const Tensor ar = contiguous(real(a)), br = contiguous(real(b));
  if (!has_complex(b)) return complex(f(ar, br), f(contiguous(imag(a)), br));
  if (!has_complex(a)) return complex(f(ar, br), f(ar, contiguous(imag(b))));
  const Tensor ai = contiguous(imag(a)), bi = contiguous(imag(b));
  return complex(sub(f(ar, br), f(ai, bi)), add(f(ar, bi), f(ai, br)));
}

}  // namespace of_complex
}  // namespace ops
}  // namespace flambeau
