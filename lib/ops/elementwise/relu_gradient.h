// The gradient of a ReLU by its result, for those that do its part.
#pragma once
#include "tensor/tensor.h"

namespace flambeau::ops {

// dy, and 0 where y is 0 or less.
Tensor relu_gradient(const Tensor& dy, const Tensor& y);

}  // namespace flambeau::ops
