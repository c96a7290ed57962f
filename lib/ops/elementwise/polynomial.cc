// Orthogonal polynomials; they carry no gradient, as in torch.
#include "ops/elementwise/polynomial.h"

#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

Tensor polynomial(Form op, Polynomial which, T input, T n, bool shifted = false) {
  Call c{op, {input, n}};
  float_operands(c);
  return c.no_gradient(c.map(kPolynomial, {c[0], c[1]}, {double(int(which)), double(shifted)}));
}

}  // namespace

Tensor chebyshev_polynomial_t(T input, T n, Into into) {
  return polynomial(op::chebyshev_polynomial_t.to(into), Polynomial::chebyshev_t, input, n);
}
Tensor chebyshev_polynomial_u(T input, T n, Into into) {
  return polynomial(op::chebyshev_polynomial_u.to(into), Polynomial::chebyshev_u, input, n);
}
Tensor chebyshev_polynomial_v(T input, T n, Into into) {
  return polynomial(op::chebyshev_polynomial_v.to(into), Polynomial::chebyshev_v, input, n);
}
Tensor chebyshev_polynomial_w(T input, T n, Into into) {
  return polynomial(op::chebyshev_polynomial_w.to(into), Polynomial::chebyshev_w, input, n);
}
Tensor shifted_chebyshev_polynomial_t(T input, T n, Into into) {
  return polynomial(op::shifted_chebyshev_polynomial_t.to(into), Polynomial::chebyshev_t, input, n,
                    true);
}
Tensor shifted_chebyshev_polynomial_u(T input, T n, Into into) {
  return polynomial(op::shifted_chebyshev_polynomial_u.to(into), Polynomial::chebyshev_u, input, n,
                    true);
}
Tensor shifted_chebyshev_polynomial_v(T input, T n, Into into) {
  return polynomial(op::shifted_chebyshev_polynomial_v.to(into), Polynomial::chebyshev_v, input, n,
                    true);
}
Tensor shifted_chebyshev_polynomial_w(T input, T n, Into into) {
  return polynomial(op::shifted_chebyshev_polynomial_w.to(into), Polynomial::chebyshev_w, input, n,
                    true);
}
Tensor hermite_polynomial_h(T input, T n, Into into) {
  return polynomial(op::hermite_polynomial_h.to(into), Polynomial::hermite_h, input, n);
}
Tensor hermite_polynomial_he(T input, T n, Into into) {
  return polynomial(op::hermite_polynomial_he.to(into), Polynomial::hermite_he, input, n);
}
Tensor laguerre_polynomial_l(T input, T n, Into into) {
  return polynomial(op::laguerre_polynomial_l.to(into), Polynomial::laguerre, input, n);
}
Tensor legendre_polynomial_p(T input, T n, Into into) {
  return polynomial(op::legendre_polynomial_p.to(into), Polynomial::legendre, input, n);
}

}  // namespace flambeau::ops
