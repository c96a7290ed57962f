// Kernels of the activations and of their gradients, (dy, x) or (dy, y) to dx.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

inline constinit Kernel kRelu{"relu"}, kReluSlope{"relu_backward"};  // (dy, y)
inline constinit Kernel kLeakyRelu{"leaky_relu"},
    kLeakyReluSlope{"leaky_relu_backward"};                      // {slope}
inline constinit Kernel kElu{"elu"}, kEluSlope{"elu_backward"};  // {alpha, scale, input scale}
inline constinit Kernel kGelu{"gelu"}, kGeluSlope{"gelu_backward"};
inline constinit Kernel kGeluTanh{"gelu"}, kGeluTanhSlope{"gelu_backward"};
inline constinit Kernel kSilu{"silu"}, kSiluSlope{"silu_backward"};
inline constinit Kernel kMish{"mish"}, kMishSlope{"mish_backward"};
inline constinit Kernel kSoftplus{"softplus"},
    kSoftplusSlope{"softplus_backward"};  // {beta, limit}
inline constinit Kernel kHardtanh{"hardtanh"}, kHardtanhSlope{"hardtanh_backward"};  // {low, high}
inline constinit Kernel kHardsigmoid{"hardsigmoid"}, kHardsigmoidSlope{"hardsigmoid_backward"};
inline constinit Kernel kHardswish{"hardswish"}, kHardswishSlope{"hardswish_backward"};
inline constinit Kernel kLogsigmoid{"logsigmoid"}, kLogsigmoidSlope{"logsigmoid_backward"};
inline constinit Kernel kSoftsign{"softsign"}, kSoftsignSlope{"softsign_backward"};
inline constinit Kernel kTanhshrink{"tanhshrink"}, kTanhshrinkSlope{"tanhshrink_backward"};
inline constinit Kernel kThreshold{"threshold"},
    kThresholdSlope{"threshold_backward"};  // {at, value}

}  // namespace flambeau
