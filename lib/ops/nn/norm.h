// Kernels of normalisations that are elementwise once their statistics are known.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

inline constinit Kernel kScaleShift{"batch_norm"};  // x * scale + shift

}  // namespace flambeau
