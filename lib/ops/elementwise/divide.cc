// Quotients, remainders and powers. Integers follow Python: floor_divide and remainder round
// downwards, an integer divided by 0 is an error on the cpu, where it can be seen without waiting.
#include "base/error.h"
#include "flambeau/binary.h"
#include "kernels/fold/fold.h"
#include "ops/elementwise/beside_half.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/pointwise.h"
#include "ops/elementwise/told_divisor.h"
#include "ops/formula.h"
#include "ops/read.h"
#include "ops/reduce/reduced_shape.h"

namespace flambeau::ops {

namespace {

struct DivBackward {
  Saved a, b;
  static constexpr auto name = "DivBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor d = b, da = div(dy, d);
    return {da, wanted(1) ? neg(mul(da, div(a, d))) : Tensor()};
  }
};

struct DivNumberBackward {  // of a number by b
  Saved number, y;
  static constexpr auto name = "DivBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor quotient = y;
    return {Tensor(), neg(mul(dy, mul(quotient, div(quotient, number))))};
  }
};

// Quotients that were rounded have slope 0.
struct RoundedDivBackward {
  [[no_unique_address]] ServesOnce once{};
  static constexpr auto name = "DivBackward2";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? zeros_as(dy) : Tensor(), wanted(1) ? zeros_as(dy) : Tensor()};
  }
};

template <Name N> struct RemainderBackward {
  Saved a, b;
  int32_t rounding;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    return {dy, wanted(1) ? neg(mul(dy, div(a, b, rounding))) : Tensor()};
  }
};

void check_divisor(const char* op, const Tensor& divisor) {
  if (!is_integral(divisor.dtype()) || !divisor.device().is_cpu() || divisor.numel() == 0) return;
  const Tensor nonzero = flambeau::empty({}, Dtype::boolean, kCpu);
  run_fold(op, kTruth, divisor.dtype(), nonzero, divisor, ReducedShape(divisor, {}, false).dims,
           {kAllTrue});
  check(is_true(nonzero), Code::invalid_argument, "ZeroDivisionError: ", op, " of integers by 0");
}

Tensor rounded_quotient(Form op, const Kernel& k, const Tensor& input, const Tensor& other) {
  Call c{op, {input, other}};
  const Dtype dtype = promote_beside(c);
  c.convert(0, dtype);
  if (is_beside_half(c, 1, dtype)) {
    const Kernel& by_number = &k == &kDivTrunc ? kTruncOverNumber : kFloorOverNumber;
    return c.track(c.map(by_number, {c[0]}, {number_in_float(c[1])}), RoundedDivBackward{});
  }
  check_divisor(op, c[1]);
  if (&k == &kDivTrunc && is_half(dtype)) {
    // The quotient is rounded before it is cut, as in torch.
    const Tensor quotient = c.map(kDiv, {c[0], c[1]});
    return c.track(c.map(kTrunc, {quotient}), RoundedDivBackward{});
  }
  return c.track(c.map(k, {c[0], c[1]}), RoundedDivBackward{});
}

template <Name N> Tensor remainder_of(Form op, const Kernel& k, const Tensor& input,
                                      const Tensor& other, int32_t rounding) {
  Call c{op, {input, other}};
  c.promote();
  check_divisor(op, c[1]);
  RemainderBackward<N> gradient{c.save(c[0], c.wants(1)), c.save(c[1], c.wants(1)), rounding};
  return c.track(c.map(k, {c[0], c[1]}), std::move(gradient));
}

// ---- powers -------------------------------------------------------------------------------------

struct PowNumberBackward {
  Saved x;
  double exponent;
  static constexpr auto name = "PowBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x;
    if (exponent == 0) return {zeros_as(in)};
    if (exponent == 2) return {mul(dy, mul(in, num(2.0)))};
    return {mul(dy, mul(pow(in, num(exponent - 1)), num(exponent)))};
  }
};

struct PowBackward {
  Saved a, b, y;
  static constexpr auto name = "PowBackward1";
  Tensors operator()(const Tensor& dy) const {
    const Tensor base = a, e = b, none = num(int64_t{0});
    Tensor da, db;
    if (wanted(0))
      da = drop_where(eq(e, none), mul(dy, mul(e, pow(base, sub(e, num(int64_t{1}))))));
    if (wanted(1)) {
      const Tensor at_zero = logical_and(eq(base, none), ge(e, none));
      db = drop_where(at_zero, mul(dy, mul(y, log(base))));
    }
    return {da, db};
  }
};

struct PowOfNumberBackward {
  Saved exponent, y;
  double base;
  static constexpr auto name = "PowBackward1";
  Tensors operator()(const Tensor& dy) const {
    const Tensor slope = mul(dy, mul(y, num(std::log(base))));
    return {Tensor(), base == 0 ? drop_where(ge(exponent, num(int64_t{0})), slope) : slope};
  }
};

// The kernel of a power that is cheaper than pow.
const Kernel* special_power(double e) {
  return e == 2      ? &kSquare
         : e == 3    ? &kCube
         : e == 0.5  ? &kSqrt
         : e == -1   ? &kReciprocal
         : e == -0.5 ? &kRsqrt
                     : nullptr;
}

Tensor pow_number(Call& c, double e) {
  PowNumberBackward gradient{c.save(c[0]), e};
  const Kernel* k = is_floating(c[0].dtype()) ? special_power(e) : nullptr;
  Tensor y = k ? c.map(*k, {c[0]}) : c.map(kPow, {c[0], c[1]});
  return c.track(std::move(y), std::move(gradient));
}

}  // namespace

Tensor div(const Tensor& input, const Tensor& other, int32_t rounding_mode, Into into) {
  if (rounding_mode == FLAM_ROUNDING_TRUNC)
    return rounded_quotient(op::div.to(into), kDivTrunc, input, other);
  if (rounding_mode == FLAM_ROUNDING_FLOOR)
    return rounded_quotient(op::div.to(into), kDivFloor, input, other);
  if (has_complex(input, other)) [[unlikely]]
    return of_complex::div(input, other, into);
  Call c{op::div.to(into), {input, other}};
  const Dtype promoted = c.promoted();
  const Dtype dtype = is_floating(promoted) ? promoted : defaults().dtype;
  convert_beside(c, dtype);
  const auto quotient = [&] { return map_beside(c, kDiv, kOverNumber, kNumberOver); };
  if (tells_divisor(input, dtype)) {
    Tensor y = quotient();
    DivNumberBackward gradient{c.save(c[0]), c.save_output(y)};
    return c.track(std::move(y), std::move(gradient));
  }
  DivBackward gradient{c.save(c[0], c.wants(1)), c.save(c[1])};
  return c.track(quotient(), std::move(gradient));
}

Tensor floor_divide(const Tensor& input, const Tensor& other, Into into) {
  return rounded_quotient(op::floor_divide.to(into), kDivFloor, input, other);
}

Tensor remainder(const Tensor& input, const Tensor& other, Into into) {
  return remainder_of<"RemainderBackward0">(op::remainder.to(into), kRemainder, input, other,
                                            FLAM_ROUNDING_FLOOR);
}

Tensor fmod(const Tensor& input, const Tensor& other, Into into) {
  return remainder_of<"FmodBackward0">(op::fmod.to(into), kFmod, input, other, FLAM_ROUNDING_TRUNC);
}

Tensor pow(const Tensor& input, const Tensor& exponent, Into into) {
  if (has_complex(input, exponent)) [[unlikely]]
    return of_complex::pow(input, exponent, into);
  const bool number = exponent.is_wrapped_number();
  const double e = number ? read_number(exponent) : 0;
  check(!number || e >= 0 || is_floating(input.dtype()) || is_floating(exponent.dtype()),
        Code::invalid_argument, "Integers to negative integer powers are not allowed.");
  Call c{op::pow.to(into), {input, exponent}};
  c.promote();
  if (number && !input.is_wrapped_number()) return pow_number(c, e);
  if (input.is_wrapped_number()) {
    PowOfNumberBackward gradient{c.save(c[1]), {}, read_number(input)};
    Tensor y = c.map(kPow, {c[0], c[1]});
    gradient.y = c.save_output(y);
    return c.track(std::move(y), std::move(gradient));
  }
  PowBackward gradient{c.save(c[0]), c.save(c[1]), {}};
  Tensor y = c.map(kPow, {c[0], c[1]});
  gradient.y = c.save_output(y);
  return c.track(std::move(y), std::move(gradient));
}

}  // namespace flambeau::ops
