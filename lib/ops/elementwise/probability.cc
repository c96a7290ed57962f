// Functions of probability theory and their gradients.
#include "ops/elementwise/probability.h"

#include <cmath>

#include "base/error.h"
#include "ops/element.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

constexpr double kRootOfTwoPi = 2.5066282746310002;

template <class Which> double number_of(Which which) { return double(int(which)); }

void refuse_first(const char* op) {
  check(!wanted(0), Code::unsupported, "the derivative for '", op,
        "' by its first operand is not implemented; detach() it");
}

struct ZetaBackward {
  Saved s, q;
  static constexpr auto name = "SpecialZetaBackward0";
  Tensors operator()(const Tensor& dy) const {
    refuse_first("special_zeta");
    const Tensor power = element(s);
    return {Tensor(), neg(mul(dy, mul(power, zeta(one_plus(power), q))))};
  }
};

// The slope of the lower function by x, x^(a - 1) exp(-x) / gamma(a).
template <Name N> struct IncompleteGammaBackward {
  Saved a, x;
  double sign;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    refuse_first(N.text);
    const Tensor at = element(x), shape = element(a);
    const Tensor size = sub(sub(xlogy(sub(shape, num(int64_t{1})), at), at), lgamma(shape));
    return {Tensor(), mul(mul(dy, exp(size)), num(sign))};
  }
};

template <class Backward, class... More>
Tensor of_pair(Form op, OfPair which, T a, T b, More... more) {
  Call c{op, {a, b}};
  float_operands(c);
  Backward gradient{c.save(c[0]), c.save(c[1]), more...};
  return c.track(c.map(kPairFunction, {c[0], c[1]}, {number_of(which)}), std::move(gradient));
}

}  // namespace

Tensor ndtr(T input, Into into) {
  return from_input<"SpecialNdtrBackward0">(
      op::ndtr.to(into), kNormalFunction, input,
      [](T dy, T x) { return mul(dy, mul(exp(mul(mul(x, x), num(-0.5))), num(1 / kRootOfTwoPi))); },
      {number_of(Normal::below)});
}

Tensor ndtri(T input, Into into) {
  return from_result<"SpecialNdtriBackward0">(
      op::ndtri.to(into), kNormalFunction, input,
      [](T dy, T y) { return mul(dy, mul(exp(mul(mul(y, y), num(0.5))), num(kRootOfTwoPi))); },
      {number_of(Normal::quantile)});
}

Tensor log_ndtr(T input, Into into) {
  return from_input<"SpecialLogNdtrBackward0">(
      op::log_ndtr.to(into), kNormalFunction, input,
      [](T dy, T x) { return mul(div(dy, erfcx(mul(x, num(-M_SQRT1_2)))), num(2 / kRootOfTwoPi)); },
      {number_of(Normal::log_below)});
}

Tensor erfcx(T input, Into into) {
  return from_input<"SpecialErfcxBackward0">(
      op::erfcx.to(into), kNormalFunction, input,
      [](T dy, T x) { return mul(dy, sub(mul(mul(x, erfcx(x)), num(2.0)), num(M_2_SQRTPI))); },
      {number_of(Normal::erfcx)});
}

Tensor entr(T input, Into into) {
  return from_input<"SpecialEntrBackward0">(
      op::entr.to(into), kNormalFunction, input,
      [](T dy, T x) { return neg(mul(dy, one_plus(log(x)))); }, {number_of(Normal::entropy)});
}

Tensor xlog1py(T input, T other, Into into) {
  Call c{op::xlog1py.to(into), {input, other}};
  float_operands(c);
  // Only where the logarithm is infinite: elsewhere it is the slope, at 0 too.
  const Tensor ends = logical_or(le(c[1], num(-1.0)), eq(c[1], num(double(INFINITY))));
  const Tensor zero = logical_and(eq(c[0], num(int64_t{0})), ends);
  return drop_where(zero, mul(kept_operand(c, 0), log1p(drop_where(zero, c[1]))));
}

Tensor zeta(T input, T other, Into into) {
  return of_pair<ZetaBackward>(op::zeta.to(into), OfPair::zeta, input, other);
}

Tensor igamma(T input, T other, Into into) {
  return of_pair<IncompleteGammaBackward<"IgammaBackward0">>(
      op::igamma.to(into), OfPair::gamma_below, input, other, 1.0);
}
Tensor igammac(T input, T other, Into into) {
  return of_pair<IncompleteGammaBackward<"IgammacBackward0">>(
      op::igammac.to(into), OfPair::gamma_above, input, other, -1.0);
}

Tensor mvlgamma(T input, int64_t p, Into into) {
  check(p >= 1, Code::invalid_argument, "p has to be greater than or equal to 1, got ", p);
  check(input.dtype() != Dtype::boolean, Code::dtype,
        "mvlgamma: The input tensor may not be a boolean tensor.");
  Call c{op::mvlgamma.to(into), {input}};
  float_operands(c);
  const Tensor halves =
      arange(num(0.5 - 0.5 * double(p)), num(0.25), num(0.5), c[0].dtype(), c[0].device());
  const Tensor each = lgamma(add(unsqueeze(kept_operand(c, 0), -1), halves));
  const int64_t last = -1;
  return add(sum(each, {&last, 1}), num(double(p * (p - 1)) * (std::log(M_PI) / 4)));
}

}  // namespace flambeau::ops
