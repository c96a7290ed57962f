// Kernels of the elementwise losses, (x, target) to loss, and of their gradients, (dy, x, target)
// to dx; dy is one value for all in a reduced loss.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

inline constinit Kernel kMse{"mse_loss"},
    kMseSlope{"mse_loss_backward"};  // slopes: {factor of dy, ...}
inline constinit Kernel kL1{"l1_loss"}, kL1Slope{"l1_loss_backward"};
inline constinit Kernel kSmoothL1{"smooth_l1_loss"},
    kSmoothL1Slope{"smooth_l1_loss_backward"};                                     // {_, beta}
inline constinit Kernel kHuber{"huber_loss"}, kHuberSlope{"huber_loss_backward"};  // {_, delta}
inline constinit Kernel kBce{"binary_cross_entropy"}, kBceSlope{"binary_cross_entropy_backward"};
inline constinit Kernel kBceLogits{"binary_cross_entropy_with_logits"},
    kBceLogitsSlope{"binary_cross_entropy_with_logits_backward"};

}  // namespace flambeau
