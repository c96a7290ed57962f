// Triangular factors as results: Cholesky's and LU's, and what is solved by them.
#include "ops/linalg/factors.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

constexpr Op kTriangularCholeskyOp{"cholesky of a lower triangle"};

std::string not_positive_text(int32_t info) {
  return cat_text(
      "The factorization could not be completed because the input is not "
      "positive-definite (the leading minor of order ",
      info, " is not positive-definite).");
}
std::string zero_pivot_text(int32_t info) {
  return cat_text("U[", info, ",", info,
                  "] is zero and using it on lu_solve would result in a division by zero. If you "
                  "still want to perform the factorization, consider calling linalg.lu(A, pivot) "
                  "or linalg.lu_factor_ex(A, pivot)");
}

struct CholeskyBackward {
  Saved y;
  static constexpr auto name = "LinalgCholeskyExBackward0";
  Tensors operator()(TensorsView dy) const {
    const FullPrecision scope;
    if (!dy[0]) return {};
    const Tensor l = y, back = mt(l);
    const Tensor phi = halved_diagonal(matmul(back, dy[0]));
    const Tensor left = linalg_solve_triangular(back, phi, true);
    const Tensor da = linalg_solve_triangular(l, left, false, false);
    return {mul(add(da, mt(da)), num(0.5))};
  }
};

// The lower factor of the lower triangle.
std::tuple<Tensor, Tensor> cholesky_of(const Tensor& A, bool checked) {
  Call c{kTriangularCholeskyOp, {A}};
  const bool listed = takes_list(A);
  const Device place = listed ? A.device() : place_of(A);
  Tensor made = columns(A, place);
  const Tensor info = zeros(batch_sizes(A), Dtype::i32, place);
  if (made.numel() > 0 && place.is_cpu()) {
    factor_cholesky(made, info);
  } else if (made.numel() > 0) {
    listed ? library::cholesky_listed(made, addresses_of(made), info)
           : library::cholesky(made, info);
    made = contiguous(triu(made));  // of what lies in columns, the lower triangle
  }
  if (checked) check_info("linalg.cholesky", info, not_positive_text);
  Tensor ys[] = {as_matrices(made, A.device()), as_result(info, A.device())};
  c.track_all({ys, 1}, CholeskyBackward{c.save_output(ys[0])});
  return {ys[0], ys[1]};
}

std::tuple<Tensor, Tensor> cholesky_ex(Form op, const Tensor& A, bool upper, bool checked) {
  check_square("linalg.cholesky", "A", A);
  Call c{op, {A}};
  check_floating_matrix("linalg.cholesky", c[0]);
  auto [l, info] = cholesky_of(upper ? mt(c[0]) : c[0], checked);
  return {upper ? mt(contiguous(l)) : l, info};  // column by column, both
}

// That of B is another solution; that of the factor is of both of its triangles, as in torch.
struct CholeskySolveBackward {
  Saved l, x;
  bool upper;
  static constexpr auto name = "CholeskySolveBackward0";
  Tensors operator()(const Tensor& dy) const {
    const FullPrecision scope;
    const Tensor factor = l, db = cholesky_solve(dy, factor, upper);
    if (!wanted(1)) return {db};
    const Tensor product = matmul(db, mt(x)), both = neg(add(product, mt(product)));
    return {db, upper ? matmul(factor, both) : matmul(both, factor)};
  }
};

// Throws where a pivot of matrices with m rows names none.
void check_pivots(const Tensor& pivots, int64_t m) {
  const GradMode off(false);
  const Tensor rows = detach(pivots);
  if (is_true(all(logical_and(ge(rows, num(int64_t{1})), le(rows, num(m)))))) return;
  const int64_t least = read_integer(amin(rows, Dims{}, false));
  fail(Code::invalid_argument,
       "linalg.lu_solve: pivots must be greater or equal to 1 and smaller or equal to ", m,
       ", got ", least < 1 ? least : read_integer(amax(rows, Dims{}, false)),
       "; they are those of lu_factor");
}

// The rows' order that pivots make: P of A = P L U, [..., m, m] of A's dtype.
Tensor permutation_of(const Tensor& pivots, int64_t m, Dtype dtype) {
  const DimsView batch = pivots.sizes().first(pivots.sizes().size() - 1);
  const Device place = place_of(pivots.device(), numel_of(batch), m);
  const Tensor rows = as_result(contiguous(detach(pivots)), place);
  const Tensor p = unit_columns(batch, m, dtype, place);
  if (rows.numel() > 0) swap_rows(p, rows);
  return as_result(p, pivots.device());  // P^T column by column, which is P row by row
}

Tensor unit_lower(const Tensor& lu, int64_t k) {
  const Tensor below = tril(narrow(lu, -1, 0, k), -1);
  return add(below, eye(lu.size(-2), k, lu.dtype(), lu.device()));
}
Tensor upper_of(const Tensor& lu, int64_t k) { return triu(narrow(lu, -2, 0, k)); }

// d(L^-1 dA U^-1) splits into L's part below the diagonal and U's on and above it.
struct LuBackward {
  Saved lu;
  Tensor pivots;
  static constexpr auto name = "LinalgLuFactorExBackward0";
  Tensors operator()(TensorsView dy) const {
    const FullPrecision scope;
    if (!dy[0]) return {};
    const Tensor both = lu;
    const int64_t m = both.size(-2), n = both.size(-1), k = std::min(m, n);
    const Tensor square = narrow(narrow(both, -2, 0, k), -1, 0, k);
    const Tensor l = unit_lower(square, k), u = upper_of(square, k);
    const Tensor d = narrow(narrow(dy[0], -2, 0, k), -1, 0, k);
    Tensor lower = matmul(mt(l), tril(d, -1)), upper = matmul(triu(d), mt(u));
    Tensor rest;  // of A beside or below the square part: U's columns, or L's rows
    if (n > k) {
      const Tensor du = narrow(dy[0], -1, k, n - k);
      lower = sub(lower, matmul(du, mt(narrow(both, -1, k, n - k))));
      rest = linalg_solve_triangular(mt(l), du, true, true, true);
    } else if (m > k) {
      const Tensor dl = narrow(dy[0], -2, k, m - k);
      upper = sub(upper, matmul(mt(narrow(both, -2, k, m - k)), dl));
      rest = linalg_solve_triangular(mt(u), dl, false, false);
    }
    const Tensor left =
        linalg_solve_triangular(mt(l), add(tril(lower, -1), triu(upper)), true, true, true);
    Tensor da = linalg_solve_triangular(mt(u), left, false, false);
    if (rest) {
      const Tensor parts[] = {da, rest};
      da = cat(parts, n > k ? -1 : -2);
    }
    return {matmul(permutation_of(pivots, m, both.dtype()), da)};
  }
};

std::tuple<Tensor, Tensor, Tensor> lu_factor(const Op& op, const Tensor& A, bool pivot,
                                             bool checked) {
  const char* shown = "torch.linalg.lu_factor";
  check_matrix(shown, "A", A);
  check(pivot, Code::unsupported,
        "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  Call c{op, {A}};
  check_floating_matrix("linalg.lu_factor", c[0]);
  const Lu lu = lu_of(c[0]);
  if (checked) check_info(shown, lu.info, zero_pivot_text);
  const Device device = A.device();
  Tensor ys[] = {as_matrices(lu.lu, device), as_result(lu.pivots, device),
                 as_result(lu.info, device)};
  c.track_all({ys, 1}, LuBackward{c.save_output(ys[0]), ys[1]});
  return {ys[0], ys[1], ys[2]};
}

}  // namespace

Tensor linalg_cholesky(const Tensor& A, bool upper, Into into) {
  return std::get<0>(cholesky_ex(op::linalg_cholesky.to(into), A, upper, true));
}
std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& A, bool upper, bool check_errors) {
  return cholesky_ex(op::linalg_cholesky_ex, A, upper, check_errors);
}

Tensor cholesky_solve(const Tensor& B, const Tensor& L, bool upper, Into into) {
  check_matrix(op::cholesky_solve, "B", B);
  check_square(op::cholesky_solve, "L", L);
  check(B.size(-2) == L.size(-1), Code::shape,
        "Incompatible matrix sizes for cholesky_solve: each A matrix is ", L.size(-2), " by ",
        L.size(-1), " but each b matrix is ", B.size(-2), " by ", B.size(-1));
  Call c{op::cholesky_solve.to(into), {B, L}, Devices::exact};
  check_floating_matrix(op::cholesky_solve, c[0]);
  CholeskySolveBackward gradient{c.save(c[1]), {}, upper};
  Tensor y;
  {
    const GradMode off(false);
    const Tensor lower = upper ? mt(c[1]) : c[1];
    y = linalg_solve_triangular(mt(lower), linalg_solve_triangular(lower, c[0], false), true);
  }
  gradient.x = c.save_output(y);
  return c.track(std::move(y), std::move(gradient));
}

Tensor cholesky_inverse(const Tensor& L, bool upper, Into into) {
  check_square(op::cholesky_inverse, "A", L);
  Call c{op::cholesky_inverse.to(into), {L}};
  check_floating_matrix(op::cholesky_inverse, c[0]);
  const Tensor one = eye(L.size(-1), L.size(-1), c[0].dtype(), L.device());
  return cholesky_solve(expand(one, L.sizes()), c[0], upper);
}

std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& A, bool pivot) {
  auto [lu, pivots, info] = lu_factor(op::linalg_lu_factor, A, pivot, true);
  return {lu, pivots};
}
std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot,
                                                       bool check_errors) {
  return lu_factor(op::linalg_lu_factor_ex, A, pivot, check_errors);
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& A, bool pivot) {
  const auto [lu, pivots, info] = lu_factor(op::linalg_lu, A, pivot, false);
  const int64_t k = std::min(A.size(-1), A.size(-2));
  return {permutation_of(pivots, A.size(-2), lu.dtype()), unit_lower(lu, k), upper_of(lu, k)};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots, bool data,
                                             bool permutation) {
  check_matrix("torch.lu_unpack", "LU_data", lu);
  check(!permutation || pivots.dtype() == Dtype::i32, Code::dtype,
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, "
        "got ",
        pivots);
  const Call c{op::lu_unpack, {lu, pivots}, Devices::exact};
  check_floating_matrix("torch.lu_unpack", c[0]);
  const int64_t m = lu.size(-2), k = std::min(m, lu.size(-1));
  check(!permutation || (pivots.dim() == lu.dim() - 1 && pivots.size(-1) == k), Code::shape,
        "torch.lu_unpack: LU_pivots has ", pivots, " for ", lu);
  if (permutation) check_pivots(pivots, m);
  const Tensor none = flambeau::empty(Dims{0}, lu.dtype(), lu.device());
  return {permutation ? permutation_of(pivots, m, lu.dtype()) : none,
          data ? unit_lower(c[0], k) : none, data ? upper_of(c[0], k) : none};
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                       bool adjoint, Into into) {
  const char* shown = "linalg.lu_solve";
  check_square(shown, "LU", LU);
  check_matrix(shown, "B", B);
  check(pivots.dtype() == Dtype::i32, Code::dtype, shown,
        ": Expected pivots of dtype int32, but got ", name_of(pivots.dtype()));
  check(pivots.dim() == LU.dim() - 1 && pivots.size(-1) == LU.size(-1), Code::shape, shown,
        ": Number of pivots per batch should be same as the dimension of the matrix, got ", pivots,
        " for ", LU);
  const Call c{op::linalg_lu_solve.to(into), {LU, B}, Devices::exact};
  const Tensor &lu = c[0], &b = c[1];
  check_floating_matrix(shown, lu);
  if (!left) return mt(linalg_lu_solve(lu, pivots, mt(b), true, !adjoint));
  check(lu.size(-1) == b.size(-2), Code::shape, shown,
        ": Incompatible shapes of A and B for the equation AX = B (", lu.size(-2), "x", lu.size(-1),
        " and ", b.size(-2), "x", b.size(-1), ")");
  check_pivots(pivots, lu.size(-1));
  const Tensor p = permutation_of(pivots, lu.size(-1), lu.dtype());
  if (!adjoint) {
    const Tensor y = linalg_solve_triangular(lu, matmul(mt(p), b), false, true, true);
    return linalg_solve_triangular(lu, y, true);
  }
  const Tensor y = linalg_solve_triangular(mt(lu), b, false);
  const Tensor x = linalg_solve_triangular(mt(lu), y, true, true, true);
  return mt(matmul(mt(x), mt(p)));  // p x, column by column
}

}  // namespace flambeau::ops
