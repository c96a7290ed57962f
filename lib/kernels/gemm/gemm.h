// Matrix products: out = act(alpha * a @ b + beta * c), one front door for mm, bmm, addmm, linear
// and their gradients. Operands are strided views, so a transposed operand is a view and never a
// copy. Half types accumulate in f32 and round once; integers wrap. A result's bits do not depend
// on the number of threads.
#pragma once
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

enum class Activation : int8_t { none, relu };

struct GemmOptions {
  const Tensor* c =
      nullptr;  // broadcasts to out: a bias row, a bias column, or out itself to accumulate
  Activation activation = Activation::none;
  double alpha = 1, beta = 1;  // beta 0: c is not read, as in BLAS
};

// out [..., m, n] = act(alpha * a [..., m, k] @ b [..., k, n] + beta * c). Batch dimensions of a
// and b broadcast to out's. All operands share one dtype and device; out must not overlap a or b.
// Throws shape errors.
void run_gemm(const char* op, const Tensor& out, const Tensor& a, const Tensor& b,
              const GemmOptions& options = {});

// ---- what a launch receives
// ------------------------------------------------------------------------------

inline constexpr int kGemmBatchDims = 6;

struct GemmOperand {
  char* data;
  int64_t row, col;               // strides in elements
  int64_t batch[kGemmBatchDims];  // outermost first
};

struct GemmArgs {
  int64_t m, n, k, batches;
  int32_t batch_ndim;
  Activation activation;
  bool tf32;  // f32 operands may be rounded to 10 bits of mantissa
  int64_t batch_size[kGemmBatchDims];
  GemmOperand out, a, b, c;  // c.data is null where there is none
  double alpha, beta;
};

// Element offset of one batch within an operand.
#if defined(__CUDACC__)
__host__ __device__
#endif
    inline int64_t
    gemm_batch_offset(const GemmArgs& g, const GemmOperand& o, int64_t batch) {
  int64_t offset = 0;
  for (int d = g.batch_ndim - 1; d >= 0; --d) {
    offset += batch % g.batch_size[d] * o.batch[d];
    batch /= g.batch_size[d];
  }
  return offset;
}

extern constinit Kernel kGemm;

}  // namespace flambeau
