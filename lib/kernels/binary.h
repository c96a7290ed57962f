// Kernels of the elementwise operations of two operands.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

inline constinit Kernel kAdd{"add"};          // input + other
inline constinit Kernel kAddScaled{"add"};    // input + alpha * other
inline constinit Kernel kSub{"sub"};
inline constinit Kernel kMul{"mul"};

}  // namespace flambeau
