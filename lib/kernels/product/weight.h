// A product by a layer's weight, which lies transposed: without the view that would say so, whose
// making is a tenth of what a small layer costs the host.
#pragma once
#include "kernels/gemm/gemm.h"

namespace flambeau {

// run_gemm() of a [..., m, k] and the transpose of weight [..., n, k].
void run_gemm_by_weight(const char* op, const Tensor& out, const Tensor& a, const Tensor& weight,
                        const GemmOptions& options = {});

}  // namespace flambeau
