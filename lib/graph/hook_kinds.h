// What few hooks and views are: hooks that hear of a gradient which is absent, and views that a
// function of the program returned. Apart from hook.h and autograd_data.h, which every operation
// includes.
#pragma once
#include "graph/autograd_data.h"

namespace flambeau {

// Is called with an undefined gradient, too, where a pass comes by without one.
class AbsenceHook : public TensorHook {};

// Of a view that a function of the program returned: the gradient is the function's own.
inline constexpr Creation kInCustomFunction{4};

}  // namespace flambeau
