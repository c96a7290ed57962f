// Systems of equations: solutions, inverses and determinants by LU, solutions by triangles. The
// gradients are Giles's (2008), written with the same ops.
#include <cmath>

#include "ops/linalg/factors.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

constexpr Op kSolveMatricesOp{"solve of matrices"};

std::string singular_text(int32_t) {
  return "The solver failed because the input matrix is singular.";
}
std::string no_inverse_text(int32_t info) {
  return cat_text("The diagonal element ", info,
                  " is zero, the inversion could not be completed because the input matrix is "
                  "singular.");
}

struct InvBackward {
  Saved y;
  static constexpr auto name = "LinalgInvExBackward0";
  Tensors operator()(TensorsView dy) const {
    if (!dy[0]) return {};
    const Tensor back = mt(y);
    return {neg(matmul(back, matmul(dy[0], back)))};
  }
};

struct SolveBackward {
  Saved a, x;
  static constexpr auto name = "LinalgSolveExBackward0";
  Tensors operator()(TensorsView dy) const {
    if (!dy[0]) return {};
    const Tensor db = linalg_solve(mt(a), dy[0], true);
    return {wanted(0) ? neg(matmul(db, mt(x))) : Tensor(), db};
  }
};

struct TriangleBackward {
  Saved a, x;
  bool upper, unit;
  static constexpr auto name = "LinalgSolveTriangularBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor db = linalg_solve_triangular(mt(a), dy, !upper, true, unit);
    if (!wanted(0)) return {Tensor(), db};
    const Tensor da = neg(matmul(db, mt(x)));
    return {upper ? triu(da, unit) : tril(da, -int64_t(unit)), db};
  }
};

// A solution of A X = B from the factors, in place of B.
void solve_by(const Lu& by, const Tensor& b) {
  const int64_t n = b.size(-1), k = b.size(-2), batch = numel_of(batch_sizes(b));
  with_dtype(b.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < batch; ++i) {
      const int32_t* pivots = by.pivots.data_as<int32_t>() + i * n;
      for (int64_t column = 0; column < k; ++column) {
        T* values = b.data_as<T>() + (i * k + column) * n;
        for (int64_t row = 0; row < n; ++row) std::swap(values[row], values[pivots[row] - 1]);
      }
    }
  });
  solve_triangle(by.lu, b, false, true);
  solve_triangle(by.lu, b, true, false);
}

std::tuple<Tensor, Tensor> inverse(Form op, const char* shown, const Tensor& A, bool checked) {
  check_square(shown, "A", A);
  Call c{op, {A}};
  check_floating_matrix(shown, c[0]);
  const int64_t n = A.size(-1);
  const Lu lu = lu_of(c[0]);
  if (checked) check_info(shown, lu.info, no_inverse_text);
  const Tensor made = empty_columns(batch_sizes(A), n, n, c[0].dtype());
  run_cast(made, eye(n, n, made.dtype(), kCpu));
  if (made.numel() > 0) solve_by(lu, made);
  Tensor ys[] = {as_matrices(made, A.device()), as_result(lu.info, A.device())};
  c.track_all({ys, 1}, InvBackward{c.save_output(ys[0])});
  return {ys[0], ys[1]};
}

// Both of the same batch.
std::tuple<Tensor, Tensor> solve_matrices(Form op, const Tensor& A, const Tensor& B, bool checked) {
  Call c{op, {A, B}, Devices::exact};
  const Lu lu = lu_of(A);
  if (checked) check_info("torch.linalg.solve", lu.info, singular_text);
  const Tensor made = columns(B);
  if (made.numel() > 0) solve_by(lu, made);
  Tensor ys[] = {as_matrices(made, A.device()), as_result(lu.info, A.device())};
  c.track_all({ys, 1}, SolveBackward{c.save(A), c.save_output(ys[0])});
  return {ys[0], ys[1]};
}

void check_equation(const char* op, const Tensor& A, const Tensor& B, bool left) {
  check(left ? A.size(-2) == B.size(-2) : A.size(-1) == B.size(-1), Code::shape, op,
        ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (",
        A.size(-2), "x", A.size(-1), " and ", B.size(-2), "x", B.size(-1), ")");
}

struct Pair {
  Tensor a, b;
};

// With their leading sizes broadcast.
Pair same_batch(const Tensor& a, const Tensor& b) {
  const Dims batch = broadcast_shapes(batch_sizes(a), batch_sizes(b));
  return {expand(a, joined(batch, {a.size(-2), a.size(-1)})),
          expand(b, joined(batch, {b.size(-2), b.size(-1)}))};
}

std::tuple<Tensor, Tensor> solution(Form op, const Tensor& A, const Tensor& B, bool left,
                                    bool checked) {
  const char* shown = "linalg.solve";
  check_square(shown, "A", A);
  Call c{op, {A, B}, Devices::exact};
  check_floating_matrix(shown, c[0]);
  check_same_kind(shown, c[0], c[1]);
  const DimsView rows = A.sizes().first(A.sizes().size() - 1);
  const bool vector = B.dim() == 1 || (B.dim() == A.dim() - 1 &&
                                       std::equal(rows.begin(), rows.end(), B.sizes().begin()));
  check(vector || B.dim() >= 2, Code::shape, shown, ": B must have at least 1 dimension. Got ", B);
  check(left || !vector, Code::shape, shown,
        ": Vector broadcasting of the left hand side is not "
        "supported for left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  const Tensor right = vector ? unsqueeze(c[1], -1) : c[1];
  check_equation(shown, c[0], right, left);
  const Pair p = left ? same_batch(c[0], right) : same_batch(mt(c[0]), mt(right));
  auto [x, info] = solve_matrices(kSolveMatricesOp, p.a, p.b, checked);
  if (vector && x.dim() > 2) {  // vectors of a batch lie column by column, as in torch
    return {mt(contiguous(mt(squeeze(x, Dims{-1})))), info};
  }
  return {vector ? squeeze(x, Dims{-1}) : left ? x : mt(x), info};
}

// The determinant's sign and size: from the diagonal of U and how often rows changed places.
template <class F> void each_diagonal(const Lu& lu, F&& f) {
  const int64_t n = lu.lu.size(-1);
  with_dtype(lu.lu.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < lu.info.numel(); ++i) {
      double sign = 1, size = 1, log_size = 0;
      for (int64_t j = 0; j < n; ++j) {
        const double u = double(lu.lu.data_as<T>()[(i * n + j) * n + j]);
        size *= std::abs(u);
        log_size += std::log(std::abs(u));
        sign = u == 0 ? 0 : std::isnan(u) ? u : u < 0 ? -sign : sign;
        if (lu.pivots.data_as<int32_t>()[i * n + j] != j + 1) sign = -sign;
      }
      f(tag, i, sign, size, log_size);
    }
  });
}

// adj(A)^T times a number per matrix, which exists where the inverse does not; source: Higham,
// "What is the adjugate of a matrix", 2020.
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

struct DetBackward {
  Saved a, y;
  static constexpr auto name = "LinalgDetBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = a, det = y;
    if (in.numel() == 0) return {zeros_as(in)};
    if (!is_true(all(ne(detach(det), num(0.0))))) return {scaled_cofactors(in, dy)};
    const Tensor scale = unsqueeze(unsqueeze(mul(dy, det), -1), -1);
    return {mul(scale, mt(linalg_inv(in)))};
  }
};

struct SlogdetBackward {
  Saved a;
  static constexpr auto name = "LinalgSlogdetBackward0";
  Tensors operator()(TensorsView dy) const {
    if (!dy[1]) return {};
    const Tensor back = mt(std::get<0>(linalg_inv_ex(a)));
    return {mul(unsqueeze(unsqueeze(dy[1], -1), -1), back)};
  }
};

}  // namespace

Tensor linalg_inv(const Tensor& A, Into into) {
  return std::get<0>(inverse(op::linalg_inv.to(into), "linalg.inv", A, true));
}
std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  return inverse(op::linalg_inv_ex, "linalg.inv", A, check_errors);
}

Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left, Into into) {
  return std::get<0>(solution(op::linalg_solve.to(into), A, B, left, true));
}
std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left,
                                           bool check_errors) {
  return solution(op::linalg_solve_ex, A, B, left, check_errors);
}

Tensor linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left,
                               bool unitriangular, Into into) {
  const char* shown = "linalg.solve_triangular";
  check_square(shown, "A", A);
  check_matrix(shown, "B", B);
  check_floating_matrix(shown, A);
  check_same_kind(shown, A, B);
  check_equation(shown, A, B, left);
  if (!left) {  // column by column, too
    return mt(contiguous(linalg_solve_triangular(mt(A), mt(B), !upper, true, unitriangular)));
  }
  const Pair p = same_batch(A, B);
  Call c{op::linalg_solve_triangular.to(into), {p.a, p.b}, Devices::exact};
  const Tensor made = columns(p.b);
  if (made.numel() > 0) solve_triangle(columns(p.a), made, upper, unitriangular);
  Tensor y = as_matrices(made, c.device());
  TriangleBackward gradient{c.save(p.a), c.save_output(y), upper, unitriangular};
  return c.track(std::move(y), std::move(gradient));
}

Tensor linalg_det(const Tensor& A, Into into) {
  check_square("linalg.det", "A", A);
  Call c{op::linalg_det.to(into), {A}};
  check_floating_matrix("linalg.det", c[0]);
  const Lu lu = lu_of(c[0]);
  const Tensor made = flambeau::empty(batch_sizes(A), A.dtype(), kCpu);
  each_diagonal(lu, [&](auto tag, int64_t i, double sign, double size, double) {
    using T = typename decltype(tag)::type;
    made.data_as<T>()[i] = T(sign * size);
  });
  Tensor y = as_result(made, A.device());
  DetBackward gradient{c.save(c[0]), c.save_output(y)};
  return c.track(std::move(y), std::move(gradient));
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  check_square("linalg.slogdet", "A", A);
  Call c{op::linalg_slogdet, {A}};
  check_floating_matrix("linalg.slogdet", c[0]);
  const Lu lu = lu_of(c[0]);
  const Tensor signs = flambeau::empty(batch_sizes(A), A.dtype(), kCpu);
  const Tensor logs = flambeau::empty(batch_sizes(A), A.dtype(), kCpu);
  each_diagonal(lu, [&](auto tag, int64_t i, double sign, double, double log_size) {
    using T = typename decltype(tag)::type;
    signs.data_as<T>()[i] = T(sign);
    logs.data_as<T>()[i] = T(log_size);
  });
  Tensor ys[] = {as_result(signs, A.device()), as_result(logs, A.device())};
  c.track_all(ys, SlogdetBackward{c.save(c[0])});
  return {ys[0], ys[1]};
}

Tensor logdet(const Tensor& A) {
  check_square(op::logdet, "A", A);
  const auto [sign, size] = linalg_slogdet(A);
  return where(lt(detach(sign), num(0.0)), num(double(NAN)), size);
}

}  // namespace flambeau::ops
