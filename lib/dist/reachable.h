// Which leaves a backward pass from some outputs comes by.
#pragma once
#include <unordered_set>

#include "tensor/tensor.h"

namespace flambeau::dist {

std::unordered_set<const TensorImpl*> reachable_leaves(TensorsView outputs);

}  // namespace flambeau::dist
