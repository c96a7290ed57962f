// Comparisons, logic on truth values, bit operations: results without a gradient.
#include "base/error.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/complex.h"
#include "ops/formula.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

Tensor constant_of(Form op, const Kernel& k, const Tensor& input, const Tensor& other,
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

Tensor eq(const Tensor& input, const Tensor& other, Into into) {
  if (has_complex(input, other)) [[unlikely]]
    return of_complex::eq(input, other, into);
  return constant_of(op::eq.to(into), kEq, input, other);
}
Tensor ne(const Tensor& input, const Tensor& other, Into into) {
  if (has_complex(input, other)) [[unlikely]]
    return of_complex::ne(input, other, into);
  return constant_of(op::ne.to(into), kNe, input, other);
}
Tensor lt(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::lt.to(into), kLt, input, other);
}
Tensor le(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::le.to(into), kLe, input, other);
}
Tensor gt(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::gt.to(into), kGt, input, other);
}
Tensor ge(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::ge.to(into), kGe, input, other);
}

Tensor logical_and(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::logical_and.to(into), kLogicalAnd, input, other);
}
Tensor logical_or(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::logical_or.to(into), kLogicalOr, input, other);
}
Tensor logical_xor(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::logical_xor.to(into), kLogicalXor, input, other);
}
Tensor bitwise_and(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::bitwise_and.to(into), kBitwiseAnd, input, other);
}
Tensor bitwise_or(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::bitwise_or.to(into), kBitwiseOr, input, other);
}
Tensor bitwise_xor(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::bitwise_xor.to(into), kBitwiseXor, input, other);
}
Tensor bitwise_left_shift(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::bitwise_left_shift.to(into), kLeftShift, input, other);
}
Tensor bitwise_right_shift(const Tensor& input, const Tensor& other, Into into) {
  return constant_of(op::bitwise_right_shift.to(into), kRightShift, input, other);
}

Tensor isclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  check(input.dtype() == other.dtype(), Code::dtype, name_of(input.dtype()), " did not match ",
        name_of(other.dtype()), "; isclose compares tensors of one dtype");
  check_tolerance("rtol", rtol);
  check_tolerance("atol", atol);
  if (has_complex(input)) [[unlikely]]
    return of_complex::isclose(input, other, rtol, atol, equal_nan);
  return constant_of(op::isclose, kIsclose, input, other, {rtol, atol, double(equal_nan)});
}

bool allclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  const Call c{op::allclose, {input, other}};
  return is_true(all(isclose(input, other, rtol, atol, equal_nan)));
}

bool equal(const Tensor& input, const Tensor& other) {
  Call c{op::equal, {input, other}};
  const bool same_shape = std::equal(input.sizes().begin(), input.sizes().end(),
                                     other.sizes().begin(), other.sizes().end());
  return same_shape && is_true(all(eq(input, other)));
}

}  // namespace flambeau::ops
