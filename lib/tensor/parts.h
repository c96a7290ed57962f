// Complex numbers as what lies in memory: pairs of reals. Kernels compute in reals alone, so that
// everything below operations sees a complex tensor through one of these aliases. Autograd does not
// see them: ops/shape/view_complex.cc makes the differentiable ones.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

// How the reals of a tensor lie: of a complex one its own dimensions, then a pair.
struct RealLayout {
  Dims sizes, strides;
  int64_t offset;
};
RealLayout real_layout(const Tensor& t);

// The same memory as another dtype; the caller knows that it fits.
Tensor alias_as(const Tensor& t, Dtype dtype, DimsView sizes, DimsView strides, int64_t offset);

Tensor pairs_of(const Tensor& complex);           // [..., 2]
Tensor part_of(const Tensor& complex, int part);  // 0: the real parts, 1: the imaginary ones
Tensor complex_of(const Tensor& pairs);           // of [..., 2], whose strides are checked
inline Tensor real_of(const Tensor& t) { return is_complex(t.dtype()) ? part_of(t, 0) : t; }

}  // namespace flambeau
