// Comparisons, logic on truth values, bit operations: results without a gradient.
#include "base/error.h"
#include "kernels/binary.h"
#include "ops/formula.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

Tensor constant_of(const char* op, const Kernel& k, const Tensor& input, const Tensor& other,
                   MapParams params = {}) {
  Call c{op, {input, other}};
  c.promote();
  return c.constant(c.map(k, {c[0], c[1]}, params));
}

void check_tolerance(const char* what, double tolerance) {
  check(tolerance >= 0, Code::invalid_argument, what,
        " must be greater than or equal to zero, but got ", tolerance);
}

}  // namespace

Tensor eq(const Tensor& input, const Tensor& other) { return constant_of("eq", kEq, input, other); }
Tensor ne(const Tensor& input, const Tensor& other) { return constant_of("ne", kNe, input, other); }
Tensor lt(const Tensor& input, const Tensor& other) { return constant_of("lt", kLt, input, other); }
Tensor le(const Tensor& input, const Tensor& other) { return constant_of("le", kLe, input, other); }
Tensor gt(const Tensor& input, const Tensor& other) { return constant_of("gt", kGt, input, other); }
Tensor ge(const Tensor& input, const Tensor& other) { return constant_of("ge", kGe, input, other); }

Tensor logical_and(const Tensor& input, const Tensor& other) {
  return constant_of("logical_and", kLogicalAnd, input, other);
}
Tensor logical_or(const Tensor& input, const Tensor& other) {
  return constant_of("logical_or", kLogicalOr, input, other);
}
Tensor logical_xor(const Tensor& input, const Tensor& other) {
  return constant_of("logical_xor", kLogicalXor, input, other);
}
Tensor bitwise_and(const Tensor& input, const Tensor& other) {
  return constant_of("bitwise_and", kBitwiseAnd, input, other);
}
Tensor bitwise_or(const Tensor& input, const Tensor& other) {
  return constant_of("bitwise_or", kBitwiseOr, input, other);
}
Tensor bitwise_xor(const Tensor& input, const Tensor& other) {
  return constant_of("bitwise_xor", kBitwiseXor, input, other);
}
Tensor bitwise_left_shift(const Tensor& input, const Tensor& other) {
  return constant_of("bitwise_left_shift", kLeftShift, input, other);
}
Tensor bitwise_right_shift(const Tensor& input, const Tensor& other) {
  return constant_of("bitwise_right_shift", kRightShift, input, other);
}

Tensor isclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  check(input.dtype() == other.dtype(), Code::dtype, name_of(input.dtype()), " did not match ",
        name_of(other.dtype()), "; isclose compares tensors of one dtype");
  check_tolerance("rtol", rtol);
  check_tolerance("atol", atol);
  return constant_of("isclose", kIsclose, input, other, {rtol, atol, double(equal_nan)});
}

bool allclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  const Call c{"allclose", {input, other}};
  return is_true(all(isclose(input, other, rtol, atol, equal_nan)));
}

bool equal(const Tensor& input, const Tensor& other) {
  Call c{"equal", {input, other}};
  const bool same_shape = std::equal(input.sizes().begin(), input.sizes().end(),
                                     other.sizes().begin(), other.sizes().end());
  return same_shape && is_true(all(eq(input, other)));
}

}  // namespace flambeau::ops
