// Complex numbers: parts, arithmetic and functions. Gradients are by both parts, that of the real
// one plus i times that of the imaginary one, which PyTorch calls the conjugate Wirtinger
// derivative: a product's is dy times the other factor's conjugate, and so on.
#include "ops/elementwise/complex.h"

#include <cmath>

#include "base/error.h"
#include "flambeau/complex.h"
#include "ops/complex_parts.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/pointwise.h"
#include "ops/elementwise/special.h"
#include "ops/elementwise/told_divisor.h"
#include "ops/formula.h"
#include "ops/read.h"
#include "ops/scalar_name.h"
#include "tensor/parts.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

struct ComplexBackward {
  static constexpr auto name = "ComplexBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? real(dy) : Tensor(), wanted(1) ? imag(dy) : Tensor()};
  }
};

struct ComplexMulBackward {
  Saved a, b;
  static constexpr auto name = "MulBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? mul(dy, conj_physical(b)) : Tensor(),
            wanted(1) ? mul(dy, conj_physical(a)) : Tensor()};
  }
};

struct ComplexDivNumberBackward {  // of a number by b
  Saved number, y;
  static constexpr auto name = "DivBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor quotient = y, over = div(quotient, number);
    return {Tensor(), neg(mul(dy, conj_physical(mul(quotient, over))))};
  }
};

struct ComplexDivBackward {
  Saved a, b;
  static constexpr auto name = "DivBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor d = b, da = div(dy, conj_physical(d));
    return {da, wanted(1) ? neg(mul(da, conj_physical(div(a, d)))) : Tensor()};
  }
};

// c's operands, converted alike, through a kernel for each part.
Tensor arithmetic(Call& c, const Kernel& re, const Kernel& im) {
  const Tensor* operands[2] = {};
  Dims sizes(c[0].sizes());
  for (size_t i = 0; i < c.size(); ++i) {
    operands[i] = &c[i];
    sizes = broadcast_shapes(sizes, c[i].sizes());
  }
  Tensor y = c.output_in_order(sizes, c[0].dtype());
  run_map_of_parts(c.op(), re, im, y, {operands, c.size()});
  return y;
}

// A function of one number, made of operations on its parts that are not recorded themselves.
template <Name N, class Forward, class F>
Tensor of_number(Form op, T x, Forward forward, F formula) {
  Call c{op, {x}};
  OfInput<N, F> gradient{c.save(c[0]), formula};
  Tensor y;
  {
    const GradMode off(false);
    y = forward(part_of(c[0], 0), part_of(c[0], 1));
  }
  return c.track(std::move(y), std::move(gradient));
}

// The same where the gradient is told by the result.
template <Name N, class Forward, class F>
Tensor by_result(Form op, T x, Forward forward, F formula) {
  Call c{op, {x}};
  Tensor y;
  {
    const GradMode off(false);
    y = forward(c[0]);
  }
  OfResult<N, F> gradient{c.save_output(y), formula};
  return c.track(std::move(y), std::move(gradient));
}

void check_parts(const Op& op, T a, T b) {
  const auto fits = [](T t) { return t.dtype() == Dtype::f32 || t.dtype() == Dtype::f64; };
  if (!fits(a) || !fits(b)) {
    fail(Code::dtype, op, ": Expected both inputs to be Float or Double tensors but got ",
         scalar_name(a.dtype()), " and ", scalar_name(b.dtype()), "; convert them with .to(dtype)");
  }
  check(a.dtype() == b.dtype(), Code::dtype, op, ": Expected object of scalar type ",
        scalar_name(a.dtype()), " but got scalar type ", scalar_name(b.dtype()),
        " for second argument; convert one with .to(dtype)");
}

Tensor whole(T x) { return eq(x, x); }  // false where it is NaN

}  // namespace

// ---- made of parts ------------------------------------------------------------------------------

Tensor complex(T re, T im, Into into) {
  check_parts(op::complex, re, im);
  Call c{op::complex.to(into), {re, im}};
  const Tensor y =
      c.output_in_order(broadcast_shapes(re.sizes(), im.sizes()), to_complex(re.dtype()));
  run_cast(part_of(y, 0), c[0]);
  run_cast(part_of(y, 1), c[1]);
  return c.track(y, ComplexBackward{});
}

Tensor polar(T length, T direction, Into into) {
  const Call c{op::polar.to(into), {length, direction}};
  check_parts(op::polar, c[0], c[1]);
  return complex(ops::mul(c[0], cos(c[1])), ops::mul(c[0], sin(c[1])));
}

Tensor conj_physical(T input, Into into) {
  if (!has_complex(input)) return input;
  auto back = [](T dy) { return conj_physical(dy); };
  Call c{op::conj_physical.to(into), {input}};
  const Tensor y = c.output_in_order(input.sizes(), input.dtype());
  const Tensor re = part_of(c[0], 0), im = part_of(c[0], 1);
  const Tensor* of_im[] = {&im};
  run_cast(part_of(y, 0), re);
  run_map(op::conj_physical, kNeg, im.dtype(), part_of(y, 1), of_im, {});
  return c.track(y, Adjoint<"ConjPhysicalBackward0", decltype(back)>{back});
}

// ---- length and direction -----------------------------------------------------------------------

Tensor of_complex::abs(T x, Into into) {
  check(!into.destination || into.destination->is_out(), Code::unsupported,
        "In-place abs is not supported for complex tensors: the result is real; take x.abs()");
  return of_number<"AbsBackward0">(
      op::abs.to(into), x, [](T re, T im) { return hypot(re, im); },
      [](T dy, T z) { return ops::mul(dy, sgn(z)); });
}

Tensor angle(T input, Into into) {
  if (has_complex(input)) {
    return of_number<"AngleBackward0">(
        op::angle.to(into), input, [](T re, T im) { return atan2(im, re); },
        [](T dy, T z) {
          const Tensor re = real(z), im = imag(z);
          const Tensor square = add(mul(re, re), mul(im, im));
          const Tensor g = drop_where(eq(square, num(int64_t{0})), div(dy, square));
          return complex(neg(mul(im, g)), mul(re, g));
        });
  }
  const Tensor x = is_floating(input.dtype()) ? input : to_dtype(input, defaults().dtype);
  const Tensor turned = where(lt(x, num(0.0)), full({}, num(M_PI), x.dtype(), x.device()),
                              zeros({}, x.dtype(), x.device()));
  return where(isnan(x), x, turned);
}

Tensor sgn(T input, Into into) {
  if (!has_complex(input)) return sign(input, into);
  Call c{op::sgn.to(into), {input}};
  auto slope = [](T dy, T z) {
    const Tensor length = of_complex::abs(z, {}), y = sgn(z);
    const Tensor along = real(mul(conj_physical(y), dy));
    const Tensor across = div(sub(dy, mul(y, along)), length);
    return drop_where(eq(length, num(int64_t{0})), across);
  };
  OfInput<"SgnBackward0", decltype(slope)> gradient{c.save(c[0]), slope};
  const Tensor y = c.output_in_order(input.sizes(), input.dtype());
  const Tensor re = part_of(c[0], 0), im = part_of(c[0], 1);
  const Tensor length = flambeau::empty_like(re);
  const Tensor* parts[] = {&re, &im};
  run_map(op::sgn, kHypot, re.dtype(), length, parts, {});
  for (int part : {0, 1}) {
    const Tensor* in[] = {parts[part], &length};
    run_map(op::sgn, kDirection, re.dtype(), part_of(y, part), in, {});
  }
  return c.track(y, std::move(gradient));
}

namespace of_complex {

// ---- arithmetic ---------------------------------------------------------------------------------

Tensor mul(T a, T b, Into into) {
  Call c{op::mul.to(into), {a, b}};
  c.promote();
  ComplexMulBackward gradient{c.save(c[0], c.wants(1)), c.save(c[1], c.wants(0))};
  return c.track(arithmetic(c, kComplexMulReal, kComplexMulImag), std::move(gradient));
}

Tensor div(T a, T b, Into into) {
  Call c{op::div.to(into), {a, b}};
  c.promote();
  if (tells_divisor(a, c[0].dtype())) {
    Tensor y = arithmetic(c, kComplexDivReal, kComplexDivImag);
    ComplexDivNumberBackward gradient{c.save(c[0]), c.save_output(y)};
    return c.track(std::move(y), std::move(gradient));
  }
  ComplexDivBackward gradient{c.save(c[0], c.wants(1)), c.save(c[1])};
  return c.track(arithmetic(c, kComplexDivReal, kComplexDivImag), std::move(gradient));
}

Tensor reciprocal(T x, Into into) {
  return by_result<"ReciprocalBackward0">(
      op::reciprocal.to(into), x, [](T z) { return div(num(int64_t{1}), z, {}); },
      [](T dy, T y) { return neg(mul(dy, conj_physical(mul(y, y, {})), {})); });
}

Tensor pow(T x, T exponent, Into into) {
  const bool number = exponent.is_wrapped_number() && !has_complex(exponent);
  const double e = number ? read_number(exponent) : NAN;
  if (e == 0.5) return sqrt(x, into);
  if (e < 0) return reciprocal(pow(x, num(-e), {}), into);
  constexpr double most = 0x1p31;
  if (!number || e != std::floor(e) || e > most)
    fail_type(promote(x.dtype(), exponent.dtype()), "pow with such an exponent");
  Call c{op::pow.to(into), {x}};  // squares of squares
  if (e == 0) {
    auto none = [](T dy) { return zeros(dy.sizes(), dy.dtype(), dy.device()); };
    return c.track(ones_like(x), Adjoint<"PowBackward0", decltype(none)>{none});
  }
  const bool over = into.destination && !into.destination->is_out();  // what gradients will read
  Tensor y, square = over ? clone(x) : x;
  for (auto rest = uint64_t(e); rest; rest /= 2) {
    if (rest % 2) y = y ? mul(y, square, {}) : square;
    if (rest > 1) square = mul(square, square, {});
  }
  return y.is_same(x) ? clone(x) : y;
}

// ---- functions ----------------------------------------------------------------------------------

Tensor exp(T x, Into into) {
  const auto forward = [](T z) {
    // As C's cexp: of real numbers all is real, of minus infinity all is 0, and infinity is one in
    // a direction that is none, too, whatever infinity times 0 is.
    const Tensor power = part_of(z, 0), length = ops::exp(power), direction = part_of(z, 1);
    const Tensor none = ops::eq(power, num(-INFINITY)), straight = ops::eq(direction, num(0.0));
    const Tensor lost = logical_and(isinf(power), logical_not(isfinite(direction)));
    const Tensor re = where(logical_or(lost, straight), length, ops::mul(length, cos(direction)));
    const Tensor im = where(none, length, ops::mul(length, sin(direction)));
    return complex(re, where(straight, direction, im));
  };
  return by_result<"ExpBackward0">(op::exp.to(into), x, forward,
                                   [](T dy, T y) { return mul(dy, conj_physical(y), {}); });
}

Tensor log(T x, Into into) {
  return of_number<"LogBackward0">(
      op::log.to(into), x,
      [](T re, T im) { return complex(ops::log(hypot(re, im)), atan2(im, re)); },
      [](T dy, T z) { return div(dy, conj_physical(z), {}); });
}

Tensor sqrt(T x, Into into) {
  Call c{op::sqrt.to(into), {x}};
  Tensor y = arithmetic(c, kComplexSqrtReal, kComplexSqrtImag);
  auto slope = [](T dy, T root) { return div(dy, ops::mul(conj_physical(root), num(2.0)), {}); };
  OfResult<"SqrtBackward0", decltype(slope)> gradient{c.save_output(y), slope};
  return c.track(std::move(y), std::move(gradient));
}

// ---- truth --------------------------------------------------------------------------------------

namespace {

template <class Join> Tensor compared(const Op& op, T a, T b, Tensor (*same)(T, T, Into),
                                      Join join) {
  Call c{op, {a, b}};
  c.promote();
  const GradMode off(false);
  return c.constant(join(same(part_of(c[0], 0), part_of(c[1], 0), {}),
                         same(part_of(c[0], 1), part_of(c[1], 1), {})));
}

template <class Join> Tensor tested(const Op& op, T x, Tensor (*test)(T), Join join) {
  Call c{op, {x}};
  const GradMode off(false);
  return c.constant(join(test(part_of(c[0], 0)), test(part_of(c[0], 1))));
}

Tensor joined_by_and(T a, T b) { return logical_and(a, b); }
Tensor joined_by_or(T a, T b) { return logical_or(a, b); }

}  // namespace

Tensor eq(T a, T b, Into) { return compared(op::eq, a, b, ops::eq, joined_by_and); }
Tensor ne(T a, T b, Into) { return compared(op::ne, a, b, ops::ne, joined_by_or); }
Tensor either(const Op& op, T x, Tensor (*test)(T)) { return tested(op, x, test, joined_by_or); }
Tensor both(const Op& op, T x, Tensor (*test)(T)) { return tested(op, x, test, joined_by_and); }

// |a - b| <= atol + rtol |b|, of finite numbers; others are close where they are equal.
Tensor isclose(T a, T b, double rtol, double atol, bool equal_nan) {
  const Call c{op::isclose, {a, b}};
  const GradMode off(false);
  Tensor same = ops::eq(a, b);
  if (equal_nan) same = logical_or(same, logical_and(logical_not(whole(a)), logical_not(whole(b))));
  const Tensor room = ops::add(ops::mul(ops::abs(b), num(rtol)), num(atol));
  const Tensor apart = ops::abs(ops::sub(a, b));
  return logical_or(same, logical_and(isfinite(apart), le(apart, room)));
}

}  // namespace of_complex
}  // namespace flambeau::ops
