// Determinants from the diagonal of U. What backward multiplies by is made beside them, from the
// same factors, where a gradient is wanted: a pass back that builds no graph waits for no value of
// a device.
#include <algorithm>
#include <cmath>

#include "ops/linalg/factors.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

template <class F> void each_factored(const Lu& lu, F&& f) {
  with_dtype(lu.lu.dtype(), [&](auto tag) {
    for (int64_t i = 0; i < lu.info.numel(); ++i) f(tag, i);
  });
}

template <class T> T* diagonal_of(const Lu& lu, int64_t matrix) {
  const int64_t n = lu.lu.size(-1);
  return lu.lu.data_as<T>() + matrix * n * n;  // a step of n + 1 apart
}

// The sign, size and size's logarithm of each determinant: from U and how often rows changed
// places.
template <class F> void each_determinant(const Lu& lu, F&& f) {
  const int64_t n = lu.lu.size(-1);
  each_factored(lu, [&](auto tag, int64_t i) {
    using T = typename decltype(tag)::type;
    double sign = 1, size = 1, log_size = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double u = double(diagonal_of<T>(lu, i)[j * (n + 1)]);
      size *= std::abs(u);
      log_size += std::log(std::abs(u));
      sign = u == 0 ? 0 : std::isnan(u) ? u : u < 0 ? -sign : sign;
      if (lu.pivots.data_as<int32_t>()[i * n + j] != j + 1) sign = -sign;
    }
    f(tag, i, sign, size, log_size);
  });
}

// A^-T, row by row.
Tensor inverse_transposed(const Lu& lu) {
  const int64_t n = lu.lu.size(-1);
  const Tensor made = flambeau::empty(lu.lu.sizes(), lu.lu.dtype(), kCpu);
  run_cast(made, eye(n, n, made.dtype(), kCpu));
  if (made.numel() > 0) solve_by(lu, made);
  return made;
}

// Pivots of 0 become as small as rounding makes others: cofactors are polynomials of the entries,
// so those of a neighbour are near, and that one has an inverse.
void lift_zero_pivots(const Lu& lu) {
  const int64_t n = lu.lu.size(-1);
  each_factored(lu, [&](auto tag, int64_t i) {
    using T = typename decltype(tag)::type;
    T* u = diagonal_of<T>(lu, i);
    double greatest = 0;
    for (int64_t j = 0; j < n; ++j) greatest = std::max(greatest, std::abs(double(u[j * (n + 1)])));
    const double least = epsilon_of(lu.lu.dtype()) * (greatest > 0 ? greatest : 1);
    for (int64_t j = 0; j < n; ++j) {
      if (double(u[j * (n + 1)]) == 0) u[j * (n + 1)] = T(least);
    }
  });
}

// det(A) A^-T, row by row; the factors are lost.
Tensor cofactors(const Lu& lu) {
  lift_zero_pivots(lu);
  const Tensor made = inverse_transposed(lu);
  const int64_t count = lu.lu.size(-1) * lu.lu.size(-1);
  each_determinant(lu, [&](auto tag, int64_t i, double sign, double size, double) {
    using T = typename decltype(tag)::type;
    T* values = made.data_as<T>() + i * count;
    for (int64_t j = 0; j < count; ++j) values[j] = T(double(values[j]) * sign * size);
  });
  return made;
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
  const Tensor made = flambeau::empty(batch_sizes(A), A.dtype(), kCpu);
  each_determinant(lu, [&](auto tag, int64_t i, double sign, double size, double) {
    using T = typename decltype(tag)::type;
    made.data_as<T>()[i] = T(sign * size);
  });
  Tensor y = as_result(made, A.device());
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
  const Tensor signs = flambeau::empty(batch_sizes(A), A.dtype(), kCpu);
  const Tensor logs = flambeau::empty(batch_sizes(A), A.dtype(), kCpu);
  each_determinant(lu, [&](auto tag, int64_t i, double sign, double, double log_size) {
    using T = typename decltype(tag)::type;
    signs.data_as<T>()[i] = T(sign);
    logs.data_as<T>()[i] = T(log_size);
  });
  Tensor ys[] = {as_result(signs, A.device()), as_result(logs, A.device())};
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
