// Gradients that lie as their operand does: of an image with its channels last, where what is made
// of it goes through rows in C order.
#pragma once
#include "ops/formula.h"

namespace flambeau::ops {

inline constexpr Op kInOrderOp{"in_order"};

struct InOrderBackward {
  static constexpr auto name = "InOrderBackward0";
  Tensors operator()(const Tensor& dy) const { return {in_order(dy, true)}; }
};

// x itself.
inline Tensor with_ordered_gradient(const Tensor& x) {
  if (!modes.grad || !requires_grad(x) || !is_channels_last(x)) return x;
  Call c{kInOrderOp, {x}};
  return c.track(alias(x), InOrderBackward{});
}

}  // namespace flambeau::ops
