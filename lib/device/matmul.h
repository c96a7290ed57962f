// A matrix product as vendors' libraries take it: the argument of the HAL's optional entry.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace flambeau::hal {

// out[b] = act(alpha * a[b] @ b[b] + beta * c[b]); out [m, n], a [m, k], b [k, n]. Operands are
// strided; libraries take those of which one of the two strides is 1. c is absent (null), a bias
// row (row stride 0), or a matrix.
struct Matmul {
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
  bool tf32 = false;  // operands of f32 may be rounded to 10 bits of mantissa
  // Not null: sums[m] of a's rows go there in the same pass, as a bias's gradient beside its
  // weight's. Then there is no c, no relu and no batch.
  void* row_sums = nullptr;
};

}  // namespace flambeau::hal
