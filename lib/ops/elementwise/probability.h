// Kernels of the normal and the gamma distribution's functions; their parameter says which.
#pragma once
#include "kernels/map/map.h"

namespace flambeau {

enum class Normal : int8_t { below, quantile, log_below, erfcx, entropy };
enum class OfPair : int8_t { zeta, gamma_below, gamma_above };

// Floating point: {which}.
inline constinit Kernel kNormalFunction{"normal_function"}, kPairFunction{"pair_function"};

}  // namespace flambeau
