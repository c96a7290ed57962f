// The plan of one copy, for launches that hold several: what run_map() makes of its operands.
#pragma once
#include "kernels/map/map.h"

namespace flambeau {

// Dimensions by the output's steps, neighbours merged; false where a launch holds fewer than there
// are, or where nothing is to be copied.
bool plan_copy(const Tensor& out, const Tensor& input, MapArgs& args);

}  // namespace flambeau
