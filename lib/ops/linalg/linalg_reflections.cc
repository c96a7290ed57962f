// Products of Householder's reflections, LAPACK's form of orthogonal matrices, and the exponential
// of matrices. But for geqrf all are made of ops, which makes their gradients.
#include <cmath>

#include "ops/linalg/factors.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

// Column i of the reflections, [..., m, 1]: 1 at i, above it 0.
Tensor reflection(const Tensor& vectors, int64_t i) { return narrow(vectors, -1, i, 1); }

Tensor reflections_of(const Tensor& a) {
  return add(tril(a, -1), eye(a.size(-2), a.size(-1), a.dtype(), a.device()));
}

void check_reflections(const char* op, const Tensor& a, const Tensor& tau) {
  check_matrix(op, "A", a);
  check_floating_matrix(op, a);
  check_same_kind(op, a, tau);
  check(tau.dim() == a.dim() - 1 && tau.size(-1) <= a.size(-1), Code::shape, op,
        ": Expected tau to have one dimension less than input, and not more numbers than input has "
        "columns, got ",
        tau, " for ", a);
}

// x times reflections, from the first or from the last on, on its left.
Tensor reflected(const Tensor& vectors, const Tensor& tau, Tensor x, bool from_last) {
  const int64_t k = tau.size(-1);
  for (int64_t step = 0; step < k; ++step) {
    const int64_t i = from_last ? k - 1 - step : step;
    const Tensor v = reflection(vectors, i), factor = unsqueeze(narrow(tau, -1, i, 1), -1);
    x = sub(x, matmul(mul(v, factor), matmul(mt(v), x)));
  }
  return x;
}

// Column by column in memory, as LAPACK's results are.
Tensor by_columns(const Tensor& x) { return mt(contiguous(mt(x))); }

}  // namespace

Tensor linalg_householder_product(const Tensor& A, const Tensor& tau, Into into) {
  const char* op = "linalg.householder_product";
  const Call c{op::linalg_householder_product.to(into), {A, tau}, Devices::exact};
  check_reflections(op, c[0], c[1]);
  check(A.size(-2) >= A.size(-1), Code::shape, op,
        ": input.shape[-2] must be greater than or equal to input.shape[-1], got ", A);
  const Tensor one = expand(eye(A.size(-2), A.size(-1), c[0].dtype(), A.device()), A.sizes());
  return by_columns(reflected(reflections_of(c[0]), c[1], one, true));
}

Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& other, bool left, bool transposed,
             Into into) {
  const Call c{op::ormqr.to(into), {a, tau, other}, Devices::exact};
  check_matrix(op::ormqr, "other", other);
  check_reflections(op::ormqr, c[0], c[1]);
  check_same_kind(op::ormqr, c[0], c[2]);
  check(other.size(left ? -2 : -1) == a.size(-2), Code::shape, "ormqr: other.shape[",
        left ? "-2" : "-1", "] must be equal to input.shape[-2], got ", other, " for ", a);
  check(tau.size(-1) <= a.size(-2), Code::shape,
        "ormqr: tau.shape[-1] must be less than or equal to input.shape[-2], got ", tau, " for ",
        a);
  const Tensor vectors = reflections_of(c[0]);
  // x Q is (Q^T x^T)^T, and Q^T takes the reflections from the first on.
  const Tensor y = left ? reflected(vectors, c[1], c[2], !transposed)
                        : mt(reflected(vectors, c[1], mt(c[2]), transposed));
  return by_columns(y);
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& a) {
  check_matrix("torch.geqrf", "input", a);
  Call c{op::geqrf, {a}};
  check_floating_matrix("torch.geqrf", c[0]);
  const Device place = place_of(a);
  const Tensor made = columns(c[0], place);
  const Dims sizes = joined(batch_sizes(a), {std::min(a.size(-1), a.size(-2))});
  const Tensor tau = flambeau::empty(sizes, made.dtype(), place);
  if (made.numel() > 0) (place.is_cpu() ? factor_reflections : library::reflections)(made, tau);
  return {c.no_gradient(as_matrices(made, a.device())), as_result(tau, a.device())};
}

namespace {

// exp by its polynomial of degree 18, in blocks of six powers.
Tensor exponential_polynomial(const Tensor& a) {
  const Tensor one = expand(eye(a.size(-1), a.size(-1), a.dtype(), a.device()), a.sizes());
  const Tensor a2 = matmul(a, a), a3 = matmul(a2, a), a4 = matmul(a2, a2), a5 = matmul(a4, a);
  const Tensor powers[] = {one, a, a2, a3, a4, a5}, a6 = matmul(a3, a3);
  double factors[19] = {1};
  for (int i = 1; i < 19; ++i) factors[i] = factors[i - 1] / i;
  Tensor y = mul(one, num(factors[18]));
  for (int block = 12; block >= 0; block -= 6) {
    y = matmul(y, a6);
    for (int i = 0; i < 6; ++i) y = add(y, mul(powers[i], num(factors[block + i])));
  }
  return y;
}

// How often each matrix is halved before and squared after, [..., 1, 1]: the norm of another one
// must not cost it its digits.
Tensor halvings_of(const Tensor& a) {
  const double least = 1.09;  // up to here the polynomial's error is below rounding
  const Tensor norm = amax(sum(abs(a), Dims{-2}, true), Dims{-1}, true);
  const Tensor wanted = clamp_min(ceil(log2(mul(norm, num(1 / least)))), num(int64_t{0}));
  return keep_where(isfinite(norm), wanted);
}

}  // namespace

Tensor linalg_matrix_exp(const Tensor& A) {
  check_square("linalg.matrix_exp", "A", A);
  if (is_complex(A.dtype())) fail_type(A.dtype(), "linalg.matrix_exp");
  check(is_floating(A.dtype()), Code::dtype,
        "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ",
        name_of(A.dtype()));
  const Call c{op::linalg_matrix_exp, {A}};
  if (A.numel() == 0) return clone(A);
  // In f64, whose digits the squarings may lose.
  const Tensor in = to_dtype(c[0], Dtype::f64);
  Tensor halvings;
  double most = 0;
  {
    const GradMode off(false);
    halvings = halvings_of(detach(in));
    most = read_number(amax(halvings, Dims{}, false));
  }
  Tensor y = exponential_polynomial(mul(in, exp2(neg(halvings))));
  for (int i = 0; i < int(most); ++i) y = where(gt(halvings, num(int64_t{i})), matmul(y, y), y);
  return to_dtype(y, A.dtype());
}

}  // namespace flambeau::ops
