// Kernels of special functions.
#pragma once
#include "kernels/map/map.h"

namespace flambeau {

// Floating point.
inline constinit Kernel kErfinv{"erfinv"}, kLgamma{"lgamma"}, kDigamma{"digamma"},
    kTrigamma{"polygamma"}, kPolygamma{"polygamma"},  // {n} from 2 on
    kLogit{"logit"}, kSinc{"sinc"},                   // logit: {low, high}
    kCopysign{"copysign"}, kHypot{"hypot"}, kLogaddexp{"logaddexp"},
    kGammaSlope{"standard_gamma_grad"},  // of a gamma variable by its concentration: (alpha, x)
    kShareSlope{"dirichlet_grad"};  // of a share by its own concentration: (alpha, x, the rest)

}  // namespace flambeau
