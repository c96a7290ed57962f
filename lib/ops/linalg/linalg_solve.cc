// Systems of equations: solutions and inverses by LU, solutions by triangles. The gradients are
// Giles's (2008), written with the same ops.
#include "ops/linalg/factors.h"

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

std::tuple<Tensor, Tensor> inverse(Form op, const char* shown, const Tensor& A, bool checked) {
  check_square(shown, "A", A);
  Call c{op, {A}};
  check_floating_matrix(shown, c[0]);
  const Lu lu = lu_of(c[0]);
  if (checked) check_info(shown, lu.info, no_inverse_text);
  const Tensor made = unit_columns(batch_sizes(A), A.size(-1), c[0].dtype(), lu.place());
  solve_by(lu, made);
  Tensor ys[] = {as_matrices(made, A.device()), as_result(lu.info, A.device())};
  c.track_all({ys, 1}, InvBackward{c.save_output(ys[0])});
  return {ys[0], ys[1]};
}

// Both of the same batch.
std::tuple<Tensor, Tensor> solve_matrices(Form op, const Tensor& A, const Tensor& B, bool checked) {
  Call c{op, {A, B}, Devices::exact};
  const Lu lu = lu_of(A);
  if (checked) check_info("torch.linalg.solve", lu.info, singular_text);
  const Tensor made = columns(B, lu.place());
  solve_by(lu, made);
  Tensor ys[] = {as_matrices(made, A.device()), as_result(lu.info, A.device())};
  c.track_all({ys, 1}, SolveBackward{c.save(A), c.save_output(ys[0])});
  return {ys[0], ys[1]};
}

// Solves for X in place of the columns b.
void solve_columns(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  if (b.device().is_cpu()) return solve_triangle(columns(a, kCpu), b, upper, unit);
  const Tensor turned = mt(detach(a));
  if (takes_list(a)) {
    const bool dense = a.is_contiguous() || turned.is_contiguous();
    const Tensor in = dense ? turned : columns(a, b.device());
    return library::solve_triangle_listed(in, addresses_of(in), b, addresses_of(b), upper, unit);
  }
  const bool lies = library::lies_in_rows(turned) || library::lies_in_columns(turned);
  library::solve_triangle(lies ? turned : columns(a, b.device()), b, upper, unit);
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
  const Tensor made = columns(p.b, takes_list(p.a) ? A.device() : place_of(p.a));
  if (made.numel() > 0) solve_columns(p.a, made, upper, unitriangular);
  Tensor y = as_matrices(made, c.device());
  TriangleBackward gradient{c.save(p.a), c.save_output(y), upper, unitriangular};
  return c.track(std::move(y), std::move(gradient));
}

}  // namespace flambeau::ops
