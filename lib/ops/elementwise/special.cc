// Special functions, signs and infinities, and their gradients.
#include "ops/elementwise/special.h"

#include <cmath>

#include "base/error.h"
#include "ops/complex_gate.h"
#include "ops/element.h"
#include "ops/elementwise/numeric.h"
#include "ops/fits.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

constexpr double kPi = 3.141592653589793;

constexpr Op kScaledByPowerOp{"ldexp"};

// x 2^e for whole e in x's dtype.
Tensor scaled_by_power(T x, T exponent);

struct LdexpBackward {
  Saved exponent;
  static constexpr auto name = "LdexpBackward0";
  Tensors operator()(T dy) const { return {scaled_by_power(dy, exponent), Tensor()}; }
};

Tensor scaled_by_power(T x, T exponent) {
  Call c{kScaledByPowerOp, {x, exponent}};
  LdexpBackward gradient{c.save(c[1])};
  return c.track(c.map(kLdexp, {c[0], c[1]}), std::move(gradient));
}

struct CopysignBackward {
  Saved x, y;
  static constexpr auto name = "CopysignBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x, result = y;
    const Tensor ratio = drop_where(eq(in, num(int64_t{0})), div(result, in));
    return {mul(dy, ratio), wanted(1) ? zeros_as(dy) : Tensor()};
  }
};

struct HypotBackward {
  Saved a, b, y;
  static constexpr auto name = "HypotBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor scaled = div(dy, y);
    return {wanted(0) ? mul(scaled, a) : Tensor(), wanted(1) ? mul(scaled, b) : Tensor()};
  }
};

struct LogaddexpBackward {
  Saved a, b;
  static constexpr auto name = "LogaddexpBackward0";
  Tensors operator()(const Tensor& dy) const {
    // By what is between the two, which an infinite result does not tell.
    auto share = [&](T x, T other) { return mul(dy, sigmoid(sub(x, other))); };
    return {wanted(0) ? share(a, b) : Tensor(), wanted(1) ? share(b, a) : Tensor()};
  }
};

struct PolygammaBackward {
  Saved x;
  int64_t n;
  static constexpr auto name = "PolygammaBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {mul(dy, polygamma(std::min(n, INT64_MAX - 1) + 1, x))};
  }
};

Tensor gamma_slope(Call& c, int64_t n) {
  float_operands(c);
  PolygammaBackward gradient{c.save(c[0]), n};
  const Kernel& k = n == 0 ? kDigamma : n == 1 ? kTrigamma : kPolygamma;
  return c.track(c.map(k, {c[0]}, {double(n)}), std::move(gradient));
}

// Half types are computed in f32 and rounded once.
Tensor in_single(const Tensor& x) {
  return x.dtype() == Dtype::f16 || x.dtype() == Dtype::bf16 ? to_dtype(x, Dtype::f32) : x;
}

}  // namespace

Tensor erfinv(T input, Into into) {
  return from_result<"ErfinvBackward0">(op::erfinv.to(into), kErfinv, input, [](T dy, T y) {
    return mul(dy, mul(exp(mul(y, y)), num(0.88622692545275801)));
  });
}

Tensor lgamma(T input, Into into) {
  return from_input<"LgammaBackward0">(op::lgamma.to(into), kLgamma, input,
                                       [](T dy, T x) { return mul(dy, digamma(x)); });
}

Tensor digamma(T input, Into into) {
  Call c{op::digamma.to(into), {input}};
  return gamma_slope(c, 0);
}

Tensor polygamma(int64_t n, T input, Into into) {
  check(n >= 0, Code::invalid_argument, "polygamma(n, x) does not support negative n.");
  Call c{op::polygamma.to(into), {input}};
  return gamma_slope(c, n);
}

Tensor logit(T input, std::optional<double> eps, Into into) {
  const double low = eps.value_or(-INFINITY), high = eps ? 1 - *eps : INFINITY;
  return from_input<"LogitBackward0">(
      op::logit.to(into), kLogit, input,
      [=](T dy, T x) {
        const Tensor slope = div(dy, mul(x, one_minus(x)));
        const double least = eps.value_or(0);
        const Tensor outside = logical_or(lt(x, num(least)), gt(x, num(1 - least)));
        return eps ? drop_where(outside, slope) : where(outside, num(double(NAN)), slope);
      },
      {low, high});
}

Tensor sinc(T input, Into into) {
  return from_input<"SincBackward0">(op::sinc.to(into), kSinc, input, [](T dy, T x) {
    const Tensor in = in_single(x), zero = eq(in, num(int64_t{0}));
    const Tensor safe = where(zero, num(int64_t{1}), in);
    const Tensor slope = div(sub(cos(mul(in, num(kPi))), sinc(in)), safe);
    // At 0 the curve is that of 1 - (pi x)^2 / 6.
    return mul(dy, to_dtype(where(zero, mul(in, num(-kPi * kPi / 3)), slope), dy.dtype()));
  });
}

Tensor deg2rad(T input, Into into) {
  Call c{op::deg2rad.to(into), {input}};
  float_operands(c);
  return scaled<"Deg2RadBackward0">(c[0], kPi / 180);
}
Tensor rad2deg(T input, Into into) {
  Call c{op::rad2deg.to(into), {input}};
  float_operands(c);
  return scaled<"Rad2DegBackward0">(c[0], 180 / kPi);
}

Tensor signbit(T input, Into) {
  const GradMode off(false);
  if (!is_floating(input.dtype())) return lt(input, num(int64_t{0}));
  return lt(copysign(ones(Dims{}, input.dtype(), input.device()), input), num(int64_t{0}));
}

Tensor isposinf(T input, Into) {
  if (is_complex(input.dtype())) check_takes_complex(op::isposinf, input.dtype());
  const GradMode off(false);
  return eq(input, num(double(INFINITY)));
}
Tensor isneginf(T input, Into) {
  if (is_complex(input.dtype())) check_takes_complex(op::isneginf, input.dtype());
  const GradMode off(false);
  return eq(input, num(-double(INFINITY)));
}

Tensor nan_to_num(T input, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf, Into) {
  if (is_complex(input.dtype())) check_takes_complex(op::nan_to_num, input.dtype());
  if (!is_floating(input.dtype())) return clone(input);
  const double most = greatest_of(input.dtype());
  const Tensor x = where(isnan(input), num(nan.value_or(0.0)), input);
  const Tensor y = where(isposinf(input), num(posinf.value_or(most)), x);
  return where(isneginf(input), num(neginf.value_or(-most)), y);
}

Tensor heaviside(T input, T values, Into into) {
  check(input.dtype() == values.dtype(), Code::dtype,
        "heaviside is not yet implemented for tensors with different dtypes: ",
        name_of(input.dtype()), " and ", name_of(values.dtype()));
  Call c{op::heaviside.to(into), {input, values}};
  const GradMode off(false);
  const Tensor zero = num(int64_t{0});
  const Tensor step = to_dtype(gt(input, zero), input.dtype());
  return c.no_gradient(where(eq(input, zero), values, step));
}

Tensor copysign(T input, T other, Into into) {
  Call c{op::copysign.to(into), {input, other}};
  float_operands(c);
  Saved x = c.save(c[0]);
  Tensor y = c.map(kCopysign, {c[0], c[1]});
  CopysignBackward gradient{std::move(x), c.save_output(y)};
  return c.track(std::move(y), std::move(gradient));
}

template <class Gradient>
static Tensor of_pair(Form name, const Kernel& kernel, T input, T other) {
  Call c{name, {input, other}};
  float_operands(c);
  Gradient gradient;
  gradient.a = c.save(c[0]);
  gradient.b = c.save(c[1]);
  Tensor y = c.map(kernel, {c[0], c[1]});
  if constexpr (requires { gradient.y; }) gradient.y = c.save_output(y);
  return c.track(std::move(y), std::move(gradient));
}

Tensor hypot(T input, T other, Into into) {
  return of_pair<HypotBackward>(op::hypot.to(into), kHypot, input, other);
}

Tensor logaddexp(T input, T other, Into into) {
  return of_pair<LogaddexpBackward>(op::logaddexp.to(into), kLogaddexp, input, other);
}

Tensor logaddexp2(T input, T other, Into into) {
  const double ln2 = 0.6931471805599453;
  Call c{op::logaddexp2.to(into), {input, other}};
  float_operands(c);
  return mul(logaddexp(mul(c[0], num(ln2)), mul(c[1], num(ln2))), num(1 / ln2));
}

Tensor xlogy(T input, T other, Into into) {
  Call c{op::xlogy.to(into), {input, other}};
  float_operands(c);
  // Only where the logarithm is infinite: elsewhere it is the slope, at 0 too.
  const Tensor ends = logical_or(le(c[1], num(int64_t{0})), eq(c[1], num(double(INFINITY))));
  const Tensor zero = logical_and(eq(c[0], num(int64_t{0})), ends);
  const Tensor base = where(zero, num(int64_t{1}), element(c[1]));
  return drop_where(zero, mul(element(kept_operand(c, 0)), log(base)));
}

Tensor ldexp(T input, T other, Into into) {
  const Call c{op::ldexp.to(into), {input, other}};
  if (!is_floating(input.dtype()) || is_floating(other.dtype())) {
    return mul(kept_operand(c, 0), pow(num(2.0), other));
  }
  return scaled_by_power(kept_operand(c, 0), to_dtype(other, input.dtype()));
}

Tensor float_power(T input, T exponent, Into into) {
  const Tensor* target = target_of(into);
  check(!target || target->dtype() == Dtype::f64, Code::dtype, "the ",
        target && target->is_same(input) ? "base given to float_power_ has dtype "
                                         : "output given to float_power has dtype ",
        target ? name_of(target->dtype()) : "",
        " but the operation's result requires dtype f64; convert it with .double()");
  const Call c{op::float_power.to(into), {input, exponent}};
  const Tensor base = kept_operand(c, 0);
  auto wide = [](T t) { return t.is_wrapped_number() ? t : to_dtype(t, Dtype::f64); };
  const Tensor a = wide(base), b = wide(exponent);
  return a.is_wrapped_number() ? pow(to_dtype(alias(a), Dtype::f64), b) : pow(a, b);
}

}  // namespace flambeau::ops
