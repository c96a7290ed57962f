// Elementwise operations of two operands and their gradients. Gradients come back in the broadcast shape; the
// engine sums them to the operands' shapes.
#include "kernels/binary.h"

#include <cmath>

#include "base/error.h"
#include "ops/call.h"
#include "ops/ops.h"

namespace flambeau::ops {

namespace {

struct AddBackward {
  double alpha;
  static constexpr auto name = "AddBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {dy, !wanted(1) ? Tensor() : alpha == 1 ? dy : mul(dy, wrapped_number(alpha))};
  }
};

struct MulBackward {
  Saved a, b;
  static constexpr auto name = "MulBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? mul(dy, b) : Tensor(), wanted(1) ? mul(dy, a) : Tensor()};
  }
};

void check_alpha(const char* op, double alpha, Dtype dtype) {
  check(is_floating(dtype) || alpha == std::floor(alpha), Code::dtype, op,
        ": for integral input tensors, argument alpha must not be a floating point number, got ", alpha);
}

}  // namespace

Tensor add(const Tensor& input, const Tensor& other, double alpha) {
  Call c{"add", Cast::keep, {input, other}};
  check_alpha("add", alpha, c.promote());
  Tensor y = alpha == 1 ? c.map(kAdd, {c[0], c[1]}) : c.map(kAddScaled, {c[0], c[1]}, {alpha});
  return c.track(std::move(y), AddBackward{alpha});
}

Tensor sub(const Tensor& input, const Tensor& other, double alpha) {
  check(input.dtype() != Dtype::boolean && other.dtype() != Dtype::boolean, Code::dtype,
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
        "a mask, use the `~` or `logical_not()` operator instead.");
  Call c{"sub", Cast::keep, {input, other}};
  check_alpha("sub", alpha, c.promote());
  Tensor y = alpha == 1 ? c.map(kSub, {c[0], c[1]}) : c.map(kAddScaled, {c[0], c[1]}, {-alpha});
  return c.track(std::move(y), AddBackward{-alpha});
}

Tensor mul(const Tensor& input, const Tensor& other) {
  Call c{"mul", Cast::keep, {input, other}};
  c.promote();
  return c.track(c.map(kMul, {c[0], c[1]}), MulBackward{c.save(c[0]), c.save(c[1])});
}

}  // namespace flambeau::ops
