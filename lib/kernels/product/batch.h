// A product's operands as strides, and its batch folded into as few dimensions as all operands
// allow, because a launch walks few and a vendor's library one.
#pragma once
#include "kernels/gemm/gemm.h"

namespace flambeau {

using GemmTensors = const Tensor* const (&)[4];  // out, a, b, c; null where there is no c

// Sizes and the operands' rows and columns; dimensions of size 1 in an operand but not in the
// product repeat. No batch yet.
GemmArgs gemm_matrices(GemmTensors tensors, bool b_transposed);

// Batch dimensions from `first` on without those of size 1, neighbours merged where all operands
// allow it. Those that do not fit are left to the caller: the number of leading dimensions not
// taken.
size_t fold_batch(GemmArgs& g, GemmTensors tensors, size_t first);

// One operand shared by a whole batch of row blocks is one tall product: [b, m, k] @ [k, n] as [b
// m, k] @ [k, n].
void fold_rows(GemmArgs& g);

// From one index of t's dimension `dim` of `ndim` to the next, in elements; 0 where t repeats.
int64_t batch_stride(const Tensor& t, size_t dim, size_t ndim);

}  // namespace flambeau
