// The kernel of Bessel functions and of Airy's; its parameter says which.
#pragma once
#include "kernels/map/map.h"

namespace flambeau {

enum class Bessel : int8_t { i0, i0e, i1, i1e, k0, k0e, k1, k1e, j0, j1, y0, y1, sphere, airy };

inline constinit Kernel kBessel{"bessel"};  // floating point: {which}

}  // namespace flambeau
