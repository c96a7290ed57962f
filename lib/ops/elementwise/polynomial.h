// The kernel of orthogonal polynomials; its parameter says which.
#pragma once
#include "kernels/map/map.h"

namespace flambeau {

enum class Polynomial : int8_t {
  chebyshev_t,
  chebyshev_u,
  chebyshev_v,
  chebyshev_w,
  hermite_h,
  hermite_he,
  laguerre,
  legendre
};

inline constinit Kernel kPolynomial{"polynomial"};  // f32 and f64: {which, of 2 x - 1}

}  // namespace flambeau
