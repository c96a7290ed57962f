// Choosing between, limiting and interpolating elements.
#include "ops/elementwise/ternary.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/elementwise/binary.h"
#include "ops/fits.h"
#include "ops/formula.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

struct WhereBackward {
  Saved condition;
  static constexpr auto name = "WhereBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor mask = condition;
    return {Tensor(), wanted(1) ? keep_where(mask, dy) : Tensor(),
            wanted(2) ? drop_where(mask, dy) : Tensor()};
  }
};

struct MaskedFillBackward {
  Saved mask;
  static constexpr auto name = "MaskedFillBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? drop_where(mask, dy) : Tensor(), Tensor(),
            wanted(2) ? keep_where(mask, dy) : Tensor()};
  }
};

// The slope is 1 between the bounds and 0 at them, as in torch.
struct ClampNumbersBackward {
  Saved x;
  double low, high;
  static constexpr auto name = "ClampBackward1";
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x;
    const Tensor above = low == -INFINITY ? Tensor() : gt(in, num(low));
    const Tensor below = high == INFINITY ? Tensor() : lt(in, num(high));
    if (!above || !below)
      return {above ? keep_where(above, dy) : below ? keep_where(below, dy) : dy};
    return {keep_where(logical_and(above, below), dy)};
  }
};

Tensor halved_where(const Tensor& tie, const Tensor& dy) {
  return where(tie, mul(dy, num(0.5)), dy);
}

// An element that equals a bound shares the slope with it, unless the bounds are equal, too.
struct ClampBackward {
  Saved x, low, high;
  static constexpr auto name = "ClampBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x, least = low, most = high;
    const Tensor below = lt(in, least), above = gt(in, most), crossed = gt(least, most);
    const Tensor apart = lt(least, most);
    const Tensor low_tie = logical_and(eq(in, least), apart);
    const Tensor high_tie = logical_and(eq(in, most), apart);
    const Tensor shared = halved_where(logical_or(low_tie, high_tie), dy);
    const Tensor to_low = logical_or(logical_and(below, logical_not(crossed)), low_tie);
    const Tensor to_high = logical_or(logical_or(above, crossed), high_tie);
    return {wanted(0) ? drop_where(logical_or(below, above), shared) : Tensor(),
            wanted(1) ? keep_where(to_low, shared) : Tensor(),
            wanted(2) ? keep_where(to_high, shared) : Tensor()};
  }
};

struct BoundBackward {
  Saved x, bound;
  bool lower;
  static constexpr auto name = "ClampBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x, limit = bound, shared = halved_where(eq(in, limit), dy);
    return {wanted(0) ? keep_where(lower ? ge(in, limit) : le(in, limit), shared) : Tensor(),
            wanted(1) ? drop_where(lower ? gt(in, limit) : lt(in, limit), shared) : Tensor()};
  }
};

struct LerpBackward {
  Saved from, to, weight;
  static constexpr auto name = "LerpBackward1";
  Tensors operator()(const Tensor& dy) const {
    const Tensor w = weight;
    return {wanted(0) ? mul(dy, rsub(w, num(int64_t{1}))) : Tensor(),
            wanted(1) ? mul(dy, w) : Tensor(), wanted(2) ? mul(dy, sub(to, from)) : Tensor()};
  }
};

// By a number, which is no operand and is not saved.
struct LerpNumberBackward {
  double weight;
  static constexpr auto name = "LerpBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? mul(dy, num(1 - weight)) : Tensor(),
            wanted(1) ? mul(dy, num(weight)) : Tensor()};
  }
};

struct AddcmulBackward {
  Saved a, b;
  double value;
  static constexpr auto name = "AddcmulBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor scaled = value == 1 ? dy : mul(dy, num(value));
    return {dy, wanted(1) ? mul(scaled, b) : Tensor(), wanted(2) ? mul(scaled, a) : Tensor()};
  }
};

struct AddcdivBackward {
  Saved a, b;
  double value;
  static constexpr auto name = "AddcdivBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor divisor = b, scaled = div(value == 1 ? dy : mul(dy, num(value)), divisor);
    return {dy, wanted(1) ? scaled : Tensor(),
            wanted(2) ? neg(mul(scaled, div(a, divisor))) : Tensor()};
  }
};

void check_mask(const char* text, const Tensor& mask) {
  check(mask.dtype() == Dtype::boolean, Code::dtype, text, name_of(mask.dtype()),
        "; make one: x != 0");
}

// A bound that double carries exactly, or that is so far out that it bounds nothing but int64's
// ends.
bool is_exact(double v) { return std::fabs(v) <= 9007199254740992.0 || std::isinf(v); }

Tensor clamp_numbers(Form op, const Tensor& input, const Tensor& low, const Tensor& high, double a,
                     double b) {
  Call c{op, {input, low, high}};
  c.promote();
  check_bounds(a, b, c[0].dtype());
  ClampNumbersBackward gradient{c.save(c[0]), a, b};
  return c.track(c.map(kClampNumbers, {c[0]}, {a, b}), std::move(gradient));
}

Tensor clamp_one(Form op, const Kernel& k, const Tensor& input, const Tensor& bound, bool lower) {
  Call c{op, {input, bound}};
  c.promote();
  BoundBackward gradient{c.save(c[0]), c.save(c[1]), lower};
  return c.track(c.map(k, {c[0], c[1]}), std::move(gradient));
}

Tensor clamp_as(Form op, const Tensor& input, const Tensor& low, const Tensor& high) {
  check(low.defined() || high.defined(), Code::invalid_argument,
        "torch.clamp: At least one of 'min' or 'max' must not be None");
  constexpr double inf = std::numeric_limits<double>::infinity();
  if ((!low.defined() || low.is_wrapped_number()) &&
      (!high.defined() || high.is_wrapped_number())) {
    const double a = low.defined() ? read_number(low) : -inf,
                 b = high.defined() ? read_number(high) : inf;
    if (is_exact(a) && is_exact(b)) return clamp_numbers(op, input, low, high, a, b);
  }
  if (!high.defined()) return clamp_one(op, kMaximum, input, low, true);
  if (!low.defined()) return clamp_one(op, kMinimum, input, high, false);
  Call c{op, {input, low, high}};
  c.promote();
  ClampBackward gradient{c.save(c[0]), c.save(c[1]), c.save(c[2])};
  return c.track(c.map(kClamp, {c[0], c[1], c[2]}), std::move(gradient));
}

// input + value * a (op) b
template <class Backward> Tensor add_product(Form op, const Kernel& k, const Tensor& x,
                                             const Tensor& a, const Tensor& b, double value) {
  Call c{op, {x, a, b}};
  const Dtype dtype = c.promote();
  check(is_floating(dtype) || value == std::floor(value), Code::dtype, op,
        ": for integral operands, argument value must not be a floating point number, got ", value);
  Backward gradient{c.save(c[1]), c.save(c[2]), value};
  return c.track(c.map(k, {c[0], c[1], c[2]}, {value}), std::move(gradient));
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& input, const Tensor& other, Into into) {
  check_mask("where expected condition to be a boolean tensor, but got a tensor with dtype ",
             condition);
  Call c{op::where.to(into), {condition, input, other}};
  const Tensor* values[] = {&c[1], &c[2]};
  const Dtype dtype = result_type(values);
  c.convert(1, dtype);
  c.convert(2, dtype);
  WhereBackward gradient{c.save(c[0])};
  return c.track(c.map(kWhere, {c[0], c[1], c[2]}), std::move(gradient));
}

Tensor masked_fill(const Tensor& input, const Tensor& mask, const Tensor& value, Into into) {
  check_mask("masked_fill_ only supports boolean masks, but got mask with dtype ", mask);
  check(value.dim() == 0, Code::shape,
        "masked_fill_ only supports a 0-dimension value tensor, but got tensor with ", value.dim(),
        " dimension(s).");
  check_fits(value, input.dtype());
  const Tensor number = apart(value, input);
  Call c{op::masked_fill.to(into), {input, mask, number}};
  c.convert(2, c[0].dtype());
  MaskedFillBackward gradient{c.save(c[1])};
  return c.track(c.map(kWhere, {c[1], c[2], c[0]}), std::move(gradient));
}

Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max, Into into) {
  return clamp_as(op::clamp.to(into), input, min, max);
}
Tensor clamp_min(const Tensor& input, const Tensor& min, Into into) {
  return clamp_as(op::clamp_min.to(into), input, min, {});
}
Tensor clamp_max(const Tensor& input, const Tensor& max, Into into) {
  return clamp_as(op::clamp_max.to(into), input, {}, max);
}

Tensor lerp(const Tensor& input, const Tensor& end, const Tensor& weight, Into into) {
  check(input.dtype() == end.dtype(), Code::dtype, "expected dtype ", name_of(input.dtype()),
        " for `end` but got dtype ", name_of(end.dtype()));
  check(weight.dim() == 0 || weight.dtype() == input.dtype(), Code::dtype, "expected dtype ",
        name_of(input.dtype()), " for `weight` but got dtype ", name_of(weight.dtype()));
  Call c{op::lerp.to(into), {input, end, weight}};
  if (weight.is_wrapped_number()) {
    const double by = read_number(weight);
    return c.track(c.map(kLerpNumber, {c[0], c[1]}, {by}), LerpNumberBackward{by});
  }
  c.convert(2, c[0].dtype());
  const bool by_weight = c.wants(2);
  LerpBackward gradient{c.save(c[0], by_weight), c.save(c[1], by_weight), c.save(c[2])};
  return c.track(c.map(kLerp, {c[0], c[1], c[2]}), std::move(gradient));
}

Tensor addcmul(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value,
               Into into) {
  return add_product<AddcmulBackward>(op::addcmul.to(into), kAddcmul, input, tensor1, tensor2,
                                      value);
}

Tensor addcdiv(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value,
               Into into) {
  check(is_floating(tensor1.dtype()) || is_floating(tensor2.dtype()), Code::dtype,
        "Integer division with addcdiv is no longer supported; convert an operand: "
        "tensor2.to(float32)");
  return add_product<AddcdivBackward>(op::addcdiv.to(into), kAddcdiv, input, tensor1, tensor2,
                                      value);
}

}  // namespace flambeau::ops
