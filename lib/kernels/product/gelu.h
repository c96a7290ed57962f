// A product times the slope of a GELU (by tanh), in one pass: where a vendor's library makes it so,
// the gradient of a layer's activation costs no reading and writing of its own.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

// Whether there may be such a pass for results like `y`. Not for f32 in full precision, of which
// our own activation promises more.
bool product_takes_gelu(const Tensor& y);

// out [m, n] = a [m, k] @ b [k, n] times the slope of gelu at x [m, n]; out and x have dense rows,
// all are of one dtype and device, none is empty. False, and nothing is done, where the library
// makes no such pass.
bool run_gemm_with_gelu_slope(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& x);

}  // namespace flambeau
