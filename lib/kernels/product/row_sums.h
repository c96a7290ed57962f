// A product that makes the sums of its left operand's rows in the same pass: the gradients of a
// layer's weight, dy^T @ x, and of its bias, without reading dy once more.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

// Whether there may be such a pass for operands like `x`. Its sums are the library's, which are as
// exact as its products, accumulated in f32; a sum by itself promises more.
bool product_sums_rows(const Tensor& x);

// out [m, n] = a^T @ b and sums [m] over the rows of a [k, m], b [k, n]; of one dtype and device,
// none empty. False, and nothing is done, where the library makes one without the other.
bool run_gemm_with_sums(const Tensor& out, const Tensor& sums, const Tensor& a, const Tensor& b);

}  // namespace flambeau
