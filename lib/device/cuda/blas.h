// Matrix products by cuBLASLt, opened on first use. Nothing here needs CUDA's headers.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "device/runtime.h"

namespace flambeau::cuda {

// out[b] = act(alpha * a[b] @ b[b] + beta * c[b]); out [m, n], a [m, k], b [k, n]. Operands are
// strided: one of the two strides is 1 for those that cuBLASLt takes. c is absent (null), a bias
// row (row stride 0), or a matrix.
struct BlasMatmul {
  struct Operand {
    void* data = nullptr;
    int64_t row = 0, col = 0;  // strides in elements
    int64_t batch = 0;         // from one matrix of the batch to the next
  };
  Dtype dtype = Dtype::none;  // f32, f64, f16, bf16; half types accumulate in f32
  int64_t m = 0, n = 0, k = 0, batches = 1;
  Operand out, a, b, c;
  double alpha = 1, beta = 1;
  bool relu = false;
};

// Whether cuBLASLt can compute it without copies: strides, dtype, and a bias in a form that its
// epilogue takes.
bool blas_takes(const BlasMatmul& problem);

// Enqueues it; `problem` is one that blas_takes. Throws Error(library missing) where there is no
// cuBLASLt.
void blas_matmul(Stream s, const BlasMatmul& problem);

// Whether f32 products may use TF32 (10 bits of mantissa); off at start, as in PyTorch.
void set_blas_tf32(bool allowed);
bool blas_tf32();

}  // namespace flambeau::cuda
