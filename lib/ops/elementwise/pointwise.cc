// Elementwise functions of one operand and their gradients.
#include "ops/elementwise/pointwise.h"

#include <cmath>

#include "base/error.h"
#include "ops/elementwise/complex.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

struct NegBackward {
  static constexpr auto name = "NegBackward0";
  Tensors operator()(const Tensor& dy) const { return {neg(dy)}; }
};

void check_not_bool(const Tensor& x, const char* text) {
  check(x.dtype() != Dtype::boolean, Code::dtype, text);
}

}  // namespace

// ---- arithmetic ---------------------------------------------------------------------------------

Tensor abs(T input, Into into) {
  if (has_complex(input)) [[unlikely]]
    return of_complex::abs(input, into);
  return from_input<"AbsBackward0">(
      op::abs.to(into), kAbs, input, [](T dy, T x) { return mul(dy, sign(x)); }, {}, Domain::any);
}

Tensor neg(T input, Into into) {
  check_not_bool(
      input,
      "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
      "invert a mask, use the `~` or `logical_not()` operator instead.");
  Call c{op::neg.to(into), {input}};
  return c.track(c.map(kNeg, {c[0]}), NegBackward{});
}

Tensor positive(T input) {
  check_not_bool(input, "The `+` operator, on a bool tensor is not supported.");
  return input;
}

Tensor sign(T input, Into into) {
  check(!has_complex(input), Code::unsupported,
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
        "instead.");
  return step_function<"SignBackward0">(op::sign.to(into), kSign, input);
}

Tensor square(T input, Into into) {
  if (has_complex(input)) [[unlikely]]
    return of_complex::mul(input, input, into);
  Call c{op::square.to(into), {input}};
  if (input.dtype() == Dtype::boolean) c.convert(0, Dtype::i64);
  auto slope = [](T dy, T x) { return mul(dy, mul(x, num(2.0))); };
  OfInput<"PowBackward0", decltype(slope)> gradient{c.save(c[0]), slope};
  return c.track(c.map(kSquare, {c[0]}), std::move(gradient));
}

Tensor reciprocal(T input, Into into) {
  if (has_complex(input)) [[unlikely]]
    return of_complex::reciprocal(input, into);
  return from_result<"ReciprocalBackward0">(op::reciprocal.to(into), kReciprocal, input,
                                            [](T dy, T y) { return neg(mul(dy, mul(y, y))); });
}

Tensor sqrt(T input, Into into) {
  if (has_complex(input)) [[unlikely]]
    return of_complex::sqrt(input, into);
  return from_result<"SqrtBackward0">(op::sqrt.to(into), kSqrt, input,
                                      [](T dy, T y) { return div(dy, mul(y, num(2.0))); });
}

Tensor rsqrt(T input, Into into) {
  return from_result<"RsqrtBackward0">(op::rsqrt.to(into), kRsqrt, input, [](T dy, T y) {
    return mul(mul(dy, mul(y, mul(y, y))), num(-0.5));
  });
}

// ---- exponentials and logarithms ----------------------------------------------------------------

Tensor exp(T input, Into into) {
  if (has_complex(input)) [[unlikely]]
    return of_complex::exp(input, into);
  return from_result<"ExpBackward0">(op::exp.to(into), kExp, input,
                                     [](T dy, T y) { return mul(dy, y); });
}

Tensor exp2(T input, Into into) {
  return from_result<"Exp2Backward0">(op::exp2.to(into), kExp2, input,
                                      [](T dy, T y) { return mul(dy, mul(y, num(M_LN2))); });
}

Tensor expm1(T input, Into into) {
  return from_result<"Expm1Backward0">(op::expm1.to(into), kExpm1, input,
                                       [](T dy, T y) { return mul(dy, one_plus(y)); });
}

Tensor log(T input, Into into) {
  if (has_complex(input)) [[unlikely]]
    return of_complex::log(input, into);
  return from_input<"LogBackward0">(op::log.to(into), kLog, input,
                                    [](T dy, T x) { return div(dy, x); });
}

Tensor log2(T input, Into into) {
  return from_input<"Log2Backward0">(op::log2.to(into), kLog2, input,
                                     [](T dy, T x) { return div(dy, mul(x, num(M_LN2))); });
}

Tensor log10(T input, Into into) {
  return from_input<"Log10Backward0">(op::log10.to(into), kLog10, input,
                                      [](T dy, T x) { return div(dy, mul(x, num(M_LN10))); });
}

Tensor log1p(T input, Into into) {
  return from_input<"Log1PBackward0">(op::log1p.to(into), kLog1p, input,
                                      [](T dy, T x) { return div(dy, one_plus(x)); });
}

// ---- angles -------------------------------------------------------------------------------------

Tensor sin(T input, Into into) {
  return from_input<"SinBackward0">(op::sin.to(into), kSin, input,
                                    [](T dy, T x) { return mul(dy, cos(x)); });
}

Tensor cos(T input, Into into) {
  return from_input<"CosBackward0">(op::cos.to(into), kCos, input,
                                    [](T dy, T x) { return neg(mul(dy, sin(x))); });
}

Tensor tan(T input, Into into) {
  return from_result<"TanBackward0">(op::tan.to(into), kTan, input,
                                     [](T dy, T y) { return mul(dy, one_plus(mul(y, y))); });
}

Tensor asin(T input, Into into) {
  return from_input<"AsinBackward0">(op::asin.to(into), kAsin, input, [](T dy, T x) {
    return mul(dy, rsqrt(one_minus(mul(x, x))));
  });
}

Tensor acos(T input, Into into) {
  return from_input<"AcosBackward0">(op::acos.to(into), kAcos, input, [](T dy, T x) {
    return neg(mul(dy, rsqrt(one_minus(mul(x, x)))));
  });
}

Tensor atan(T input, Into into) {
  return from_input<"AtanBackward0">(op::atan.to(into), kAtan, input,
                                     [](T dy, T x) { return div(dy, one_plus(mul(x, x))); });
}

Tensor sinh(T input, Into into) {
  return from_input<"SinhBackward0">(op::sinh.to(into), kSinh, input,
                                     [](T dy, T x) { return mul(dy, cosh(x)); });
}

Tensor cosh(T input, Into into) {
  return from_input<"CoshBackward0">(op::cosh.to(into), kCosh, input,
                                     [](T dy, T x) { return mul(dy, sinh(x)); });
}

Tensor asinh(T input, Into into) {
  return from_input<"AsinhBackward0">(op::asinh.to(into), kAsinh, input, [](T dy, T x) {
    return mul(dy, rsqrt(one_plus(mul(x, x))));
  });
}

Tensor acosh(T input, Into into) {
  return from_input<"AcoshBackward0">(op::acosh.to(into), kAcosh, input, [](T dy, T x) {
    return mul(dy, rsqrt(sub(mul(x, x), num(int64_t{1}))));
  });
}

Tensor atanh(T input, Into into) {
  return from_input<"AtanhBackward0">(op::atanh.to(into), kAtanh, input,
                                      [](T dy, T x) { return div(dy, one_minus(mul(x, x))); });
}

// ---- curves -------------------------------------------------------------------------------------

Tensor tanh(T input, Into into) {
  return from_result<"TanhBackward0">(op::tanh.to(into), kTanh, input, [](T dy, T y) {
    return fused(kTanhSlope, {dy, y}, {}, [&] { return mul(dy, one_minus(mul(y, y))); });
  });
}

Tensor sigmoid(T input, Into into) {
  return from_result<"SigmoidBackward0">(op::sigmoid.to(into), kSigmoid, input, [](T dy, T y) {
    return fused(kSigmoidSlope, {dy, y}, {}, [&] { return mul(dy, mul(y, one_minus(y))); });
  });
}

Tensor erf(T input, Into into) {
  return from_input<"ErfBackward0">(op::erf.to(into), kErf, input, [](T dy, T x) {
    return mul(dy, mul(exp(neg(mul(x, x))), num(M_2_SQRTPI)));
  });
}

Tensor erfc(T input, Into into) {
  return from_input<"ErfcBackward0">(op::erfc.to(into), kErfc, input, [](T dy, T x) {
    return mul(dy, mul(exp(neg(mul(x, x))), num(-M_2_SQRTPI)));
  });
}

// ---- steps --------------------------------------------------------------------------------------

Tensor floor(T input, Into into) {
  return step_function<"FloorBackward0">(op::floor.to(into), kFloor, input);
}
Tensor ceil(T input, Into into) {
  return step_function<"CeilBackward0">(op::ceil.to(into), kCeil, input);
}
Tensor trunc(T input, Into into) {
  return step_function<"TruncBackward0">(op::trunc.to(into), kTrunc, input);
}

Tensor round(T input, int64_t decimals, Into into) {
  if (decimals == 0) return step_function<"RoundBackward0">(op::round.to(into), kRound, input);
  const double scale = std::pow(10.0, double(std::abs(decimals)));
  return step_function<"RoundBackward1">(op::round.to(into), kRoundDecimals, input,
                                         {scale, double(decimals < 0)});
}

Tensor frac(T input, Into into) {
  Call c{op::frac.to(into), {input}};
  const auto back = [](T dy) { return dy; };
  return c.track(c.map(kFrac, {c[0]}), Adjoint<"FracBackward0", decltype(back)>{back});
}

// ---- truth --------------------------------------------------------------------------------------

static Tensor constant_of(Form op, const Kernel& k, T input) {
  Call c{op, {input}};
  return c.constant(c.map(k, {c[0]}));
}

Tensor isnan(T input) {
  if (has_complex(input)) return of_complex::either(op::isnan, input, isnan);
  return constant_of(op::isnan, kIsnan, input);
}
Tensor isinf(T input) {
  if (has_complex(input)) return of_complex::either(op::isinf, input, isinf);
  return constant_of(op::isinf, kIsinf, input);
}
Tensor isfinite(T input) {
  if (has_complex(input)) return of_complex::both(op::isfinite, input, isfinite);
  return constant_of(op::isfinite, kIsfinite, input);
}
Tensor logical_not(T input, Into into) {
  return constant_of(op::logical_not.to(into), kLogicalNot, input);
}
Tensor bitwise_not(T input, Into into) {
  return constant_of(op::bitwise_not.to(into), kBitwiseNot, input);
}

}  // namespace flambeau::ops
