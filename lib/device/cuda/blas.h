// Matrix products by cuBLASLt, opened on first use. Nothing here needs CUDA's headers.
#pragma once
#include "device/matmul.h"
#include "device/runtime.h"

namespace flambeau::cuda {

// Whether cuBLASLt can compute it without copies: strides, dtype, and a bias in a form that its
// epilogue takes.
bool blas_takes(const hal::Matmul& problem);

// Enqueues it; `problem` is one that blas_takes. Throws Error(library missing) where there is no
// cuBLASLt.
void blas_matmul(Stream s, const hal::Matmul& problem);

// Whether f32 products may use TF32 (10 bits of mantissa); off at start, as in PyTorch.
void set_blas_tf32(bool allowed);
bool blas_tf32();

}  // namespace flambeau::cuda
