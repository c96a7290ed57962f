// Elementwise functions of one operand and their gradients.
#include "kernels/pointwise.h"

#include <cmath>

#include "base/error.h"
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

Tensor abs(T input) {
  return from_input<"AbsBackward0">(
      "abs", kAbs, input, [](T dy, T x) { return mul(dy, sign(x)); }, {}, Domain::any);
}

Tensor neg(T input) {
  check_not_bool(
      input,
      "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
      "invert a mask, use the `~` or `logical_not()` operator instead.");
  Call c{"neg", {input}};
  return c.track(c.map(kNeg, {c[0]}), NegBackward{});
}

Tensor positive(T input) {
  check_not_bool(input, "The `+` operator, on a bool tensor is not supported.");
  return input;
}

Tensor sign(T input) { return step_function<"SignBackward0">("sign", kSign, input); }

Tensor square(T input) {
  Call c{"square", {input}};
  if (input.dtype() == Dtype::boolean) c.convert(0, Dtype::i64);
  auto slope = [](T dy, T x) { return mul(dy, mul(x, num(2.0))); };
  OfInput<"PowBackward0", decltype(slope)> gradient{c.save(c[0]), slope};
  return c.track(c.map(kSquare, {c[0]}), std::move(gradient));
}

Tensor reciprocal(T input) {
  return from_result<"ReciprocalBackward0">("reciprocal", kReciprocal, input,
                                            [](T dy, T y) { return neg(mul(dy, mul(y, y))); });
}

Tensor sqrt(T input) {
  return from_result<"SqrtBackward0">("sqrt", kSqrt, input,
                                      [](T dy, T y) { return div(dy, mul(y, num(2.0))); });
}

Tensor rsqrt(T input) {
  return from_result<"RsqrtBackward0">(
      "rsqrt", kRsqrt, input, [](T dy, T y) { return mul(mul(dy, mul(y, mul(y, y))), num(-0.5)); });
}

// ---- exponentials and logarithms ----------------------------------------------------------------

Tensor exp(T input) {
  return from_result<"ExpBackward0">("exp", kExp, input, [](T dy, T y) { return mul(dy, y); });
}

Tensor exp2(T input) {
  return from_result<"Exp2Backward0">("exp2", kExp2, input,
                                      [](T dy, T y) { return mul(dy, mul(y, num(M_LN2))); });
}

Tensor expm1(T input) {
  return from_result<"Expm1Backward0">("expm1", kExpm1, input,
                                       [](T dy, T y) { return mul(dy, one_plus(y)); });
}

Tensor log(T input) {
  return from_input<"LogBackward0">("log", kLog, input, [](T dy, T x) { return div(dy, x); });
}

Tensor log2(T input) {
  return from_input<"Log2Backward0">("log2", kLog2, input,
                                     [](T dy, T x) { return div(dy, mul(x, num(M_LN2))); });
}

Tensor log10(T input) {
  return from_input<"Log10Backward0">("log10", kLog10, input,
                                      [](T dy, T x) { return div(dy, mul(x, num(M_LN10))); });
}

Tensor log1p(T input) {
  return from_input<"Log1PBackward0">("log1p", kLog1p, input,
                                      [](T dy, T x) { return div(dy, one_plus(x)); });
}

// ---- angles -------------------------------------------------------------------------------------

Tensor sin(T input) {
  return from_input<"SinBackward0">("sin", kSin, input, [](T dy, T x) { return mul(dy, cos(x)); });
}

Tensor cos(T input) {
  return from_input<"CosBackward0">("cos", kCos, input,
                                    [](T dy, T x) { return neg(mul(dy, sin(x))); });
}

Tensor tan(T input) {
  return from_result<"TanBackward0">("tan", kTan, input,
                                     [](T dy, T y) { return mul(dy, one_plus(mul(y, y))); });
}

Tensor asin(T input) {
  return from_input<"AsinBackward0">(
      "asin", kAsin, input, [](T dy, T x) { return mul(dy, rsqrt(one_minus(mul(x, x)))); });
}

Tensor acos(T input) {
  return from_input<"AcosBackward0">(
      "acos", kAcos, input, [](T dy, T x) { return neg(mul(dy, rsqrt(one_minus(mul(x, x))))); });
}

Tensor atan(T input) {
  return from_input<"AtanBackward0">("atan", kAtan, input,
                                     [](T dy, T x) { return div(dy, one_plus(mul(x, x))); });
}

Tensor sinh(T input) {
  return from_input<"SinhBackward0">("sinh", kSinh, input,
                                     [](T dy, T x) { return mul(dy, cosh(x)); });
}

Tensor cosh(T input) {
  return from_input<"CoshBackward0">("cosh", kCosh, input,
                                     [](T dy, T x) { return mul(dy, sinh(x)); });
}

Tensor asinh(T input) {
  return from_input<"AsinhBackward0">(
      "asinh", kAsinh, input, [](T dy, T x) { return mul(dy, rsqrt(one_plus(mul(x, x)))); });
}

Tensor acosh(T input) {
  return from_input<"AcoshBackward0">("acosh", kAcosh, input, [](T dy, T x) {
    return mul(dy, rsqrt(sub(mul(x, x), num(int64_t{1}))));
  });
}

Tensor atanh(T input) {
  return from_input<"AtanhBackward0">("atanh", kAtanh, input,
                                      [](T dy, T x) { return div(dy, one_minus(mul(x, x))); });
}

// ---- curves -------------------------------------------------------------------------------------

Tensor tanh(T input) {
  return from_result<"TanhBackward0">("tanh", kTanh, input, [](T dy, T y) {
    return fused("tanh_backward", kTanhSlope, {dy, y}, {},
                 [&] { return mul(dy, one_minus(mul(y, y))); });
  });
}

Tensor sigmoid(T input) {
  return from_result<"SigmoidBackward0">("sigmoid", kSigmoid, input, [](T dy, T y) {
    return fused("sigmoid_backward", kSigmoidSlope, {dy, y}, {},
                 [&] { return mul(dy, mul(y, one_minus(y))); });
  });
}

Tensor erf(T input) {
  return from_input<"ErfBackward0">("erf", kErf, input, [](T dy, T x) {
    return mul(dy, mul(exp(neg(mul(x, x))), num(M_2_SQRTPI)));
  });
}

Tensor erfc(T input) {
  return from_input<"ErfcBackward0">("erfc", kErfc, input, [](T dy, T x) {
    return mul(dy, mul(exp(neg(mul(x, x))), num(-M_2_SQRTPI)));
  });
}

// ---- steps --------------------------------------------------------------------------------------

Tensor floor(T input) { return step_function<"FloorBackward0">("floor", kFloor, input); }
Tensor ceil(T input) { return step_function<"CeilBackward0">("ceil", kCeil, input); }
Tensor trunc(T input) { return step_function<"TruncBackward0">("trunc", kTrunc, input); }

Tensor round(T input, int64_t decimals) {
  if (decimals == 0) return step_function<"RoundBackward0">("round", kRound, input);
  const double scale = std::pow(10.0, double(std::abs(decimals)));
  return step_function<"RoundBackward1">("round", kRoundDecimals, input,
                                         {scale, double(decimals < 0)});
}

Tensor frac(T input) {
  return from_input<"FracBackward0">(
      "frac", kFrac, input, [](T dy, T) { return dy; }, {}, Domain::any);
}

// ---- truth --------------------------------------------------------------------------------------

static Tensor constant_of(const char* op, const Kernel& k, T input) {
  Call c{op, {input}};
  return c.constant(c.map(k, {c[0]}));
}

Tensor isnan(T input) { return constant_of("isnan", kIsnan, input); }
Tensor isinf(T input) { return constant_of("isinf", kIsinf, input); }
Tensor isfinite(T input) { return constant_of("isfinite", kIsfinite, input); }
Tensor logical_not(T input) { return constant_of("logical_not", kLogicalNot, input); }
Tensor bitwise_not(T input) { return constant_of("bitwise_not", kBitwiseNot, input); }

}  // namespace flambeau::ops
