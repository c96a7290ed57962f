// Common divisors and multiples, neighbouring numbers, mantissas and exponents.
#include "ops/elementwise/numeric.h"

#include "base/error.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

Tensor divisor(Form op, T input, T other, bool multiple) {
  Call c{op, {input, other}};
  c.promote();
  return c.constant(c.map(kDivisor, {c[0], c[1]}, {double(multiple)}));
}

// Numbers go where they came from, but for those that are there; the way to them does not matter.
struct NextafterBackward {
  Saved from, to;
  static constexpr auto name = "NextafterBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? drop_where(eq(from, to), dy) : Tensor(),
            wanted(1) ? zeros_as(dy) : Tensor()};
  }
};

struct FrexpBackward {
  Saved exponent;
  static constexpr auto name = "FrexpBackward0";
  Tensors operator()(TensorsView dy) const {
    return {dy[0] ? ldexp(dy[0], neg(exponent)) : Tensor()};
  }
};

}  // namespace

Tensor gcd(T input, T other, Into into) { return divisor(op::gcd.to(into), input, other, false); }
Tensor lcm(T input, T other, Into into) { return divisor(op::lcm.to(into), input, other, true); }

Tensor nextafter(T input, T other, Into into) {
  Call c{op::nextafter.to(into), {input, other}};
  const Dtype dtype = c.promote();
  const double units = dtype == Dtype::bf16 ? 65536 : dtype == Dtype::f16 ? 8192 : 1;
  const double least = dtype == Dtype::f16 ? 0x1p-24 : 0;
  NextafterBackward gradient{c.save(c[0], c.wants(0)), c.save(c[1], c.wants(0))};
  return c.track(c.map(kNextafter, {c[0], c[1]}, {units, least}), std::move(gradient));
}

std::tuple<Tensor, Tensor> frexp(T input) {
  check(is_floating(input.dtype()), Code::dtype,
        "torch.frexp() only supports floating-point dtypes, got ", input);
  Call c{op::frexp, {input}};
  Tensor ys[] = {c.map(kFrexp, {c[0]}, {0.0}), {}};
  {
    const GradMode off(false);
    ys[1] = to_dtype(c.map(kFrexp, {c[0]}, {1.0}), Dtype::i32);
  }
  c.track_all({ys, 1}, FrexpBackward{c.save(ys[1])});
  return {ys[0], ys[1]};
}

}  // namespace flambeau::ops
