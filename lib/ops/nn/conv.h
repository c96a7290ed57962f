// Convolutions inside: the number of dimensions is the weight's, and an activation may be part of
// the pass, where no gradient is recorded.
#pragma once
#include "kernels/gemm/gemm.h"
#include "tensor/tensor.h"

namespace flambeau::ops {

struct ConvSteps {
  DimsView stride, padding, dilation;
  int64_t groups;
};

// An activation has no gradient here: it is for operands of which none needs one.
Tensor convolution(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvSteps& steps,
                   Activation activation);

}  // namespace flambeau::ops
