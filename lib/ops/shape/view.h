// What files that make views share: recording an alias, and the gradients of views by how much of
// the base they show.
#pragma once
#include "ops/call.h"
#include "ops/ops.h"

namespace flambeau::ops {

// A view of x, recorded with gradient f where one is needed.
template <class F>
Tensor make_view(const Op& name, const Tensor& x, DimsView sizes, DimsView strides, int64_t offset,
                 F&& f) {
  Tensor v = alias(x, sizes, strides, offset);
  set_base(v, x);
  if (!modes.grad || x.impl()->inference || !requires_grad(x)) return v;
  Call c{name, {x}};
  return c.track(std::move(v), std::forward<F>(f));
}

// A gradient of pairs as one of complex numbers; a copy of it where its strides allow no view.
Tensor pairs_as_complex(const Tensor& pairs);

// Of views that show every element once: the same elements in the operand's shape.
struct ReshapeBackward {
  Dims sizes;
  static constexpr auto name = "ViewBackward0";
  Tensors operator()(const Tensor& dy) const { return {reshape(dy, sizes)}; }
};

// Of a view that shows a part of x: the rest of x's gradient is zero.
struct PartBackward {
  Dims sizes;
  Dims view_sizes, view_strides;  // in a contiguous tensor of `sizes`
  int64_t offset;
  Tensors operator()(const Tensor& dy) const {
    Tensor dx = zeros(sizes, dy.dtype(), dy.device());
    Tensor part = as_strided(dx, view_sizes, view_strides, offset);
    copy_(part, dy);
    return {dx};
  }
};

// The general inverse: lays the gradient out over the base's memory, adding where the view reads
// twice.
struct AsStridedBackward {
  Dims sizes, strides, view_sizes, view_strides;
  int64_t offset;
  static constexpr auto name = "AsStridedBackward0";
  Tensors operator()(const Tensor& dy) const;
};

}  // namespace flambeau::ops
