// Kernels of the elementwise operations of three operands.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

inline constinit Kernel kWhere{"where"};                           // (bool condition, a, b)
inline constinit Kernel kClamp{"clamp"};                           // (x, low, high)
inline constinit Kernel kClampNumbers{"clamp"};                    // (x); {low, high}
inline constinit Kernel kLerp{"lerp"};                             // (from, to, weight)
inline constinit Kernel kLerpNumber{"lerp"};                       // (from, to); {weight}
inline constinit Kernel kAddcmul{"addcmul"}, kAddcdiv{"addcdiv"};  // (x, a, b); {value}

}  // namespace flambeau
