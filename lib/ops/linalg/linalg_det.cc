// Determinants from the diagonal of U. What backward multiplies by is made beside them, from the
// same factors, where a gradient is wanted: a pass back that builds no graph waits for no value of
// a device.
#include <algorithm>
#include <cmath>

#include "ops/linalg/factors.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

struct Determinants {
  Tensor sign, size, log_size;  // of f64
};

template <class T> void determinant(const T* u, const int32_t* pivots, int64_t n, double* sign,
                                    double* size, double* log_size) {
  *sign = *size = 1;
  *log_size = 0;
  for (int64_t j = 0; j < n; ++j, u += n + 1) {
    const double value = double(*u);
    *size *= std::abs(value);
    *log_size += std::log(std::abs(value));
    *sign = value == 0 ? 0 : std::isnan(value) ? value : value < 0 ? -*sign : *sign;
    if (pivots[j] != j + 1) *sign = -*sign;
  }
}

Determinants determinants_on_host(const Lu& lu) {
  const Dims batch = batch_sizes(lu.lu);
  const int64_t n = lu.lu.size(-1);
  const auto made = [&] { return flambeau::empty(batch, Dtype::f64, kCpu); };
  const Determinants all{made(), made(), made()};
  with_dtype(lu.lu.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < lu.info.numel(); ++i) {
      determinant(lu.lu.data_as<T>() + i * n * n, lu.pivots.data_as<int32_t>() + i * n, n,
                  all.sign.data_as<double>() + i, all.size.data_as<double>() + i,
                  all.log_size.data_as<double>() + i);
    }
  });
  return all;
}

// The same by ops.
Determinants determinants_there(const Lu& lu) {
  const int64_t n = lu.lu.size(-1), last = -1;
  const Tensor u = to_dtype(diagonal(lu.lu, 0, -2, -1), Dtype::f64), sizes = abs(u);
  const Tensor unmoved =
      arange(num(int64_t{1}), num(n + 1), num(int64_t{1}), Dtype::i32, lu.place());
  const Tensor moves = remainder(sum(ne(lu.pivots, unmoved), {&last, 1}), num(int64_t{2}));
  const Tensor turned = sub(num(1.0), mul(moves, num(2.0)));
  const Tensor signs = where(ne(u, u), u, sign(u));
  return {mul(prod(signs, -1), turned), prod(sizes, -1), sum(log(sizes), {&last, 1})};
}

Determinants determinants_of(const Lu& lu) {
  const GradMode off(false);
  return lu.place().is_cpu() ? determinants_on_host(lu) : determinants_there(lu);
}

// A^-T, row by row.
Tensor inverse_transposed(const Lu& lu) {
  const Tensor made = unit_columns(batch_sizes(lu.lu), lu.lu.size(-1), lu.lu.dtype(), lu.place());
  solve_by(lu, made);
  return made;
}

// Pivots of 0 become as small as rounding makes the least of the others: cofactors are polynomials
// of the entries, so those of a neighbour are near, and that one has an inverse.
void lift_zero_pivots(const Lu& lu) {
  if (lu.lu.numel() == 0) return;
  const Tensor u = diagonal(lu.lu, 0, -2, -1);
  const Tensor zero = eq(u, num(0.0));
  const Tensor least = amin(where(zero, num(double(INFINITY)), abs(u)), Dims{-1}, true);
  const Tensor scale = where(isinf(least), num(1.0), least);
  run_cast(u, where(zero, mul(scale, num(epsilon_of(lu.lu.dtype()))), u));
}

// det(A) A^-T, row by row; the factors are lost.
Tensor cofactors(const Lu& lu) {
  const GradMode off(false);
  lift_zero_pivots(lu);
  const Determinants all = determinants_of(lu);
  const Tensor det = unsqueeze(unsqueeze(mul(all.sign, all.size), -1), -1);
  return to_dtype(mul(to_dtype(inverse_transposed(lu), Dtype::f64), det), lu.lu.dtype());
}

// The same times a number per matrix by ops, for second derivatives; it exists where the inverse
// does not; source: Higham, "What is the adjugate of a matrix", 2020.
Tensor scaled_cofactors(const Tensor& a, const Tensor& scale) {
  const auto [u, s, vh] = linalg_svd(a, false);
  const int64_t n = s.size(-1);
  const Tensor one = ones(joined(batch_sizes(a), {1}), a.dtype(), a.device());
  const Tensor first[] = {one, narrow(s, -1, 0, n - 1)};
  const Tensor last[] = {one, narrow(flip(s, Dims{-1}), -1, 0, n - 1)};
  const Tensor others =
      mul(cumprod(cat(first, -1), -1), flip(cumprod(cat(last, -1), -1), Dims{-1}));
  const Tensor turned = mul(mul(linalg_det(u), linalg_det(vh)), scale);
  return matmul(column_scaled(u, mul(others, unsqueeze(turned, -1))), vh);
}

Tensor per_matrix(const Tensor& x) { return unsqueeze(unsqueeze(x, -1), -1); }

struct DetBackward {
  Saved a, y, slope;
  static constexpr auto name = "LinalgDetBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = a, det = y;
    if (in.numel() == 0) return {zeros_as(in)};
    if (!modes.grad) return {mul(per_matrix(dy), slope)};
    if (!is_true(all(ne(detach(det), num(0.0))))) return {scaled_cofactors(in, dy)};
    return {mul(per_matrix(mul(dy, det)), mt(linalg_inv(in)))};
  }
};

struct SlogdetBackward {
  Saved a, slope;
  static constexpr auto name = "LinalgSlogdetBackward0";
  Tensors operator()(TensorsView dy) const {
    if (!dy[1]) return {};
    const Tensor in = a;  // must not have been written
    const Tensor back = modes.grad ? mt(std::get<0>(linalg_inv_ex(in))) : Tensor(slope);
    return {mul(per_matrix(dy[1]), back)};
  }
};

}  // namespace

Tensor linalg_det(const Tensor& A, Into into) {
  check_square("linalg.det", "A", A);
  Call c{op::linalg_det.to(into), {A}};
  check_floating_matrix("linalg.det", c[0]);
  const Lu lu = lu_of(c[0]);
  const Determinants all = determinants_of(lu);
  Tensor y = as_result(to_dtype(mul(all.sign, all.size), A.dtype()), A.device());
  if (!c.needs_grad()) return y;
  const Tensor slope = as_result(cofactors(lu), A.device());
  DetBackward gradient{c.save(c[0]), c.save_output(y), c.save(slope)};
  return c.track(std::move(y), std::move(gradient));
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  check_square("linalg.slogdet", "A", A);
  Call c{op::linalg_slogdet, {A}};
  check_floating_matrix("linalg.slogdet", c[0]);
  const Lu lu = lu_of(c[0]);
  const Determinants all = determinants_of(lu);
  Tensor ys[] = {as_result(to_dtype(all.sign, A.dtype()), A.device()),
                 as_result(to_dtype(all.log_size, A.dtype()), A.device())};
  if (c.needs_grad()) {
    const Tensor slope = as_result(inverse_transposed(lu), A.device());
    c.track_all(ys, SlogdetBackward{c.save(c[0]), c.save(slope)});
  }
  return {ys[0], ys[1]};
}

Tensor logdet(const Tensor& A) {
  check_square(op::logdet, "A", A);
  const auto [sign, size] = linalg_slogdet(A);
  return where(lt(detach(sign), num(0.0)), num(double(NAN)), size);
}

}  // namespace flambeau::ops
