// Kernels that look at what numbers are made of.
#pragma once
#include "kernels/map/map.h"

namespace flambeau {

inline constinit Kernel kDivisor{"gcd"};          // integers: {whether the common multiple}
inline constinit Kernel kNextafter{"nextafter"};  // floating point: {units, least}
inline constinit Kernel kFrexp{"frexp"};          // floating point: {whether the exponent}
inline constinit Kernel kLdexp{"ldexp"};          // floating point: (x, whole exponents)

}  // namespace flambeau
