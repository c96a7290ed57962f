// Kernels of activations with a learned slope, a gate or a dead zone, and of their gradients.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

inline constinit Kernel kHardshrink{"hardshrink"}, kSoftshrink{"softshrink"};  // {lambd}
inline constinit Kernel kShrinkSlope{"shrink_backward"};                       // (dy, x) {lambd}
inline constinit Kernel kPrelu{"prelu"};                                       // (x, weight)
inline constinit Kernel kPreluSlope{"prelu_backward"};                         // (dy, x, weight)
inline constinit Kernel kGlu{"glu"};                 // (x, gate), and of dx (dy, gate)
inline constinit Kernel kGateSlope{"glu_backward"};  // (dy, x, gate)

}  // namespace flambeau
