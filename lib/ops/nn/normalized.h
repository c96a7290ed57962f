// What norms ask of their operands, what statistics are kept in, and where gradients go.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "base/error.h"
#include "graph/receiver.h"
#include "tensor/tensor.h"

namespace flambeau::ops {

inline Dtype statistics_dtype(Dtype d) { return d == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

// `x` ends with the shape; weights, where given, have it.
inline void check_normalized(const char* op, const Tensor& x, DimsView shape,
                             std::initializer_list<const Tensor*> weights) {
  check(!shape.empty() && shape.size() <= x.sizes().size() &&
            std::equal(shape.begin(), shape.end(), x.sizes().end() - std::ptrdiff_t(shape.size())),
        Code::shape, "Given normalized_shape=", ShapeText{shape},
        ", expected input with shape [*, ...] that ends with it, but got input of size",
        ShapeText{x.sizes()});
  for (const Tensor* t : weights) {
    check(!*t || std::equal(shape.begin(), shape.end(), t->sizes().begin(), t->sizes().end()),
          Code::shape, op, ": weight and bias must have the shape ", ShapeText{shape}, ", got ",
          *t);
  }
}

// What the gradient of operand 0, `x`, has become so far in this pass, where a GPU's kernel may add
// its own to it in place; else undefined.
inline Tensor gathered_gradient(const Tensor& x, const Tensor& dy) {
  if (!receivers || kernel_column(dy.device()) == KernelColumn::host) return {};
  const Tensor g = receivers->gathered(0);
  const bool fits = g && g.dtype() == dy.dtype() && g.device() == dy.device() &&
                    std::ranges::equal(g.sizes(), x.sizes()) && g.is_contiguous();
  return fits ? g : Tensor();
}

}  // namespace flambeau::ops
