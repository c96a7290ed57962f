// A number of a program as an element of the dtype that it was converted to, for formulas that
// compute with it before it meets a tensor: of plain numbers alone, a result has the default dtype
// and is rounded to it, however wide the tensors are that it is for.
#pragma once
#include "tensor/tensor.h"

namespace flambeau::ops {

inline Tensor element(const Tensor& x) {
  if (!x.is_wrapped_number()) return x;
  Tensor own = alias(x);
  own.impl()->wrapped_number = false;
  return own;
}

}  // namespace flambeau::ops
