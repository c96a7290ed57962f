// Matrix products by cuBLASLt, opened on first use. Nothing here needs CUDA's headers.
#pragma once
#include "device/matmul.h"
#include "device/runtime.h"

namespace flambeau::cuda {

// Enqueues the product; false, and nothing is done, where cuBLASLt cannot compute it without copies
// (strides, dtype, a bias in no form that its epilogue takes), has no algorithm for it, or is not
// there.
bool blas_matmul(Stream s, const hal::Matmul& problem);

// Whether f32 products may use TF32 (10 bits of mantissa); off at start, as in PyTorch.
void set_blas_tf32(bool allowed);
bool blas_tf32();

}  // namespace flambeau::cuda
