// Matrix products by cuBLASLt, opened on first use. Nothing here needs CUDA's headers.
#pragma once
#include "device/hal.h"
#include "device/matmul.h"
#include "device/matmul_slope.h"
#include "device/runtime.h"

namespace flambeau::cuda {

// Enqueues the product; `unsupported`, and nothing is done, where cuBLASLt cannot compute it
// without copies (strides, dtype, a bias in no form that its epilogue takes), has no algorithm for
// it, or is not there.
hal::Status blas_matmul(int device, Stream s, const hal::Matmul& problem);
hal::Status blas_sloped_matmul(Stream s, const hal::SlopedMatmul& problem);

}  // namespace flambeau::cuda
