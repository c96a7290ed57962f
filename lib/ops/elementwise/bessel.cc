// Bessel functions and their gradients; the scaled ones of the second kind and the spherical one
// have none in torch, nor here.
#include "ops/elementwise/bessel.h"

#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

double number_of(Bessel which) { return double(int(which)); }

Tensor without_gradient(Form op, Bessel which, T input) {
  Call c{op, {input}};
  float_operands(c);
  return c.no_gradient(c.map(kBessel, {c[0]}, {number_of(which)}));
}

template <Name N, class F> Tensor with_gradient(Form op, Bessel which, T input, F gradient) {
  return from_input<N>(op, kBessel, input, gradient, {number_of(which)});
}

// f(x) / x, one half at 0: what the functions of the first kind and order 1 do there.
Tensor over_argument(T y, T x) {
  const Tensor zero = eq(x, num(int64_t{0}));
  return where(zero, num(0.5), div(y, where(zero, num(int64_t{1}), x)));
}

}  // namespace

Tensor i0(T input, Into into) {
  return from_input<"I0Backward0">(op::i0.to(into), kBessel, input,
                                   [](T dy, T x) { return mul(dy, i1(x)); },
                                   {number_of(Bessel::i0)});
}

Tensor i0e(T input, Into into) {
  return from_input<"SpecialI0EBackward0">(
      op::i0e.to(into), kBessel, input,
      [](T dy, T x) { return mul(dy, sub(i1e(x), mul(sign(x), i0e(x)))); },
      {number_of(Bessel::i0e)});
}

Tensor i1(T input, Into into) {
  return from_input<"SpecialI1Backward0">(
      op::i1.to(into), kBessel, input,
      [](T dy, T x) { return mul(dy, sub(i0(x), over_argument(i1(x), x))); },
      {number_of(Bessel::i1)});
}

Tensor i1e(T input, Into into) {
  return from_input<"SpecialI1EBackward0">(op::i1e.to(into), kBessel, input,
                                           [](T dy, T x) {
                                             const Tensor y = i1e(x), fall = mul(sign(x), y);
                                             return mul(
                                                 dy, sub(sub(i0e(x), fall), over_argument(y, x)));
                                           },
                                           {number_of(Bessel::i1e)});
}

Tensor modified_bessel_k0(T input, Into into) {
  return with_gradient<"SpecialModifiedBesselK0Backward0">(
      op::modified_bessel_k0.to(into), Bessel::k0, input,
      [](T dy, T x) { return mul(dy, neg(modified_bessel_k1(x))); });
}
Tensor modified_bessel_k1(T input, Into into) {
  return with_gradient<"SpecialModifiedBesselK1Backward0">(
      op::modified_bessel_k1.to(into), Bessel::k1, input, [](T dy, T x) {
        return mul(dy, neg(add(modified_bessel_k0(x), div(modified_bessel_k1(x), x))));
      });
}
Tensor scaled_modified_bessel_k0(T input, Into into) {
  return without_gradient(op::scaled_modified_bessel_k0.to(into), Bessel::k0e, input);
}
Tensor scaled_modified_bessel_k1(T input, Into into) {
  return without_gradient(op::scaled_modified_bessel_k1.to(into), Bessel::k1e, input);
}
Tensor bessel_j0(T input, Into into) {
  return with_gradient<"SpecialBesselJ0Backward0">(
      op::bessel_j0.to(into), Bessel::j0, input,
      [](T dy, T x) { return mul(dy, neg(bessel_j1(x))); });
}
Tensor bessel_j1(T input, Into into) {
  return with_gradient<"SpecialBesselJ1Backward0">(
      op::bessel_j1.to(into), Bessel::j1, input,
      [](T dy, T x) { return mul(dy, sub(bessel_j0(x), over_argument(bessel_j1(x), x))); });
}
Tensor bessel_y0(T input, Into into) {
  return with_gradient<"SpecialBesselY0Backward0">(
      op::bessel_y0.to(into), Bessel::y0, input,
      [](T dy, T x) { return mul(dy, neg(bessel_y1(x))); });
}
Tensor bessel_y1(T input, Into into) {
  return with_gradient<"SpecialBesselY1Backward0">(
      op::bessel_y1.to(into), Bessel::y1, input,
      [](T dy, T x) { return mul(dy, sub(bessel_y0(x), div(bessel_y1(x), x))); });
}
Tensor spherical_bessel_j0(T input, Into into) {
  return without_gradient(op::spherical_bessel_j0.to(into), Bessel::sphere, input);
}
Tensor airy_ai(T input, Into into) {
  return without_gradient(op::airy_ai.to(into), Bessel::airy, input);
}

}  // namespace flambeau::ops
