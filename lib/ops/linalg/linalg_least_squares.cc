// What singular values decide: ranks, pseudo-inverses, and least squares.
#include <algorithm>

#include "ops/linalg/factors.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

constexpr Op kLeastSquaresOp{"least squares"};

double default_tolerance(const Tensor& a) {
  return epsilon_of(a.dtype()) * double(std::max(a.size(-1), a.size(-2)));
}

// Which values, the greatest among them given, are not 0.
Tensor counting(const Tensor& sizes, const Tensor& a, std::optional<double> atol,
                std::optional<double> rtol) {
  const double relative = rtol.value_or(atol.value_or(0) > 0 ? 0 : default_tolerance(a));
  const Tensor bound = mul(amax(sizes, Dims{-1}, true), num(relative));
  return gt(sizes, clamp(bound, num(atol.value_or(0)), Tensor()));
}

// V diag(1 / s) U^T with 1 / s = 0 where s counts as 0.
Tensor pseudo_inverse(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                      bool hermitian) {
  Tensor left, s, right;
  if (hermitian) {
    std::tie(s, left) = linalg_eigh(a, "L");
    right = left;
  } else {
    Tensor vh;
    std::tie(left, s, vh) = linalg_svd(a, false);
    right = mt(vh);
  }
  const Tensor kept = counting(abs(s), a, atol, rtol);
  const Tensor over = keep_where(kept, reciprocal(where(kept, s, num(1.0))));
  return matmul(column_scaled(right, over), mt(left));
}

// The gradient of A where that of its pseudo-inverse P is dp: the adjoint of Golub's and Pereyra's
// differential, -P dA P + P P^T dA^T (I - A P) + (I - P A) dA^T P^T P.
Tensor through_pseudo_inverse(const Tensor& a, const Tensor& p, const Tensor& dp) {
  const Tensor back = mt(p), turned = mt(dp);
  const Tensor inverse = matmul(back, matmul(dp, back));
  const Tensor tall = matmul(turned, matmul(p, back));
  const Tensor wide = matmul(matmul(back, p), turned);
  return sub(add(sub(tall, matmul(a, matmul(p, tall))), sub(wide, matmul(matmul(wide, p), a))),
             inverse);
}

struct PinvBackward {
  Saved a, y;
  static constexpr auto name = "LinalgPinvBackward0";
  Tensors operator()(const Tensor& dy) const { return {through_pseudo_inverse(a, y, dy)}; }
};

struct LstsqBackward {
  Saved a, b;
  static constexpr auto name = "LinalgLstsqBackward0";
  Tensors operator()(TensorsView dy) const {
    if (!dy[0]) return {};
    const Tensor in = a, p = linalg_pinv(in);
    return {wanted(0) ? through_pseudo_inverse(in, p, matmul(dy[0], mt(b))) : Tensor(),
            wanted(1) ? matmul(mt(p), dy[0]) : Tensor()};
  }
};

struct Least {
  Tensor x, rank, sizes;
};

// The relative bound below which each of LAPACK's drivers takes a value for 0: that by orthogonal
// factors keeps the first column whatever is asked; that by divide and conquer takes no bound from
// 1 on, nor does either by singular values one below 0.
double bound_of(std::string_view driver, double rcond, Dtype dtype) {
  const double eps = epsilon_of(dtype);
  if (driver == "gelsy") return std::clamp(rcond, 0.0, 1 - eps);
  return rcond < 0 || (driver == "gelsd" && rcond >= 1) ? eps : rcond;
}

std::string low_rank_text(int32_t) {
  return "The least squares solution could not be computed because the input matrix does not have "
         "full rank.";
}

// By orthogonal factors, on the host.
Least by_factors(const Tensor& a, const Tensor& b, double rcond, bool full_rank) {
  const int64_t n = a.size(-1), k = b.size(-1);
  const Dims batch = batch_sizes(a);
  const Tensor x = zeros(joined(batch, {k, n}), a.dtype(), kCpu);
  const Tensor rank = zeros(batch, Dtype::i64, kCpu);
  if (x.numel() > 0 && a.numel() > 0)
    solve_least_squares(columns(a, kCpu), columns(b, kCpu), x, rank, full_rank ? 0 : rcond);
  if (full_rank && x.numel() > 0) {
    const Tensor info = to_dtype(lt(rank, num(std::min(a.size(-2), n))), Dtype::i32);
    check_info("torch.linalg.lstsq", info, low_rank_text);
  }
  return {as_matrices(x, a.device()), as_result(rank, a.device()), Tensor()};
}

// By singular values.
Least by_values(const Tensor& a, const Tensor& b, double rcond) {
  const auto [u, s, vh] = linalg_svd(a, false);
  const Tensor kept = gt(s, mul(narrow(s, -1, 0, std::min<int64_t>(s.size(-1), 1)), num(rcond)));
  const Tensor over = keep_where(kept, reciprocal(where(kept, s, num(1.0))));
  const Tensor x = matmul(column_scaled(mt(vh), over), matmul(mt(u), b));
  const int64_t last = -1;
  return {mt(contiguous(mt(x))), sum(kept, {&last, 1}), s};  // column by column, as LAPACK's
}

}  // namespace

Tensor linalg_pinv(const Tensor& A, std::optional<double> atol, std::optional<double> rtol,
                   bool hermitian, Into into) {
  check_matrix("linalg.pinv", "A", A);
  if (hermitian) check_square("linalg.pinv", "A", A);
  Call c{op::linalg_pinv.to(into), {A}};
  check_floating_matrix("linalg.pinv", c[0]);
  Tensor y;
  if (A.numel() == 0) {
    y = zeros(joined(batch_sizes(A), {A.size(-1), A.size(-2)}), A.dtype(), A.device());
  } else {
    const GradMode off(false);
    y = pseudo_inverse(detach(c[0]), atol, rtol, hermitian);
  }
  PinvBackward gradient{c.save(c[0]), c.save_output(y)};
  return c.track(std::move(y), std::move(gradient));
}

Tensor linalg_matrix_rank(const Tensor& A, std::optional<double> atol, std::optional<double> rtol,
                          bool hermitian, Into into) {
  check_matrix("torch.linalg.matrix_rank", "input", A);
  if (hermitian) check_square("torch.linalg.matrix_rank", "input", A);
  const Call c{op::linalg_matrix_rank.to(into), {A}};
  const Tensor in = detach(c[0]);
  check_floating_matrix("torch.linalg.matrix_rank", in);
  const GradMode off(false);
  if (in.numel() == 0) return zeros(batch_sizes(in), Dtype::i64, in.device());
  const Tensor sizes = hermitian ? abs(linalg_eigvalsh(in, "L")) : linalg_svdvals(in);
  const int64_t last = -1;
  return sum(counting(sizes, in, atol, rtol), {&last, 1});
}

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& A, const Tensor& B,
                                                        std::optional<double> rcond,
                                                        std::string_view driver) {
  const char* shown = "torch.linalg.lstsq";
  check(A.dim() >= 2, Code::shape, shown, ": input must have at least 2 dimensions. Got ", A);
  check(B.dim() >= 1, Code::shape, shown, ": other must have at least 1 dimension. Got ", B);
  const bool host = A.device().is_cpu();
  if (driver.data() == nullptr) driver = host ? "gelsy" : "gels";
  const bool gels = driver == "gels", values = driver == "gelsd" || driver == "gelss";
  check(gels || driver == "gelsy" || values, Code::invalid_argument, shown,
        ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got ", driver);
  Call c{op::linalg_lstsq, {A, B}, Devices::exact};
  check_floating_matrix(shown, c[0]);
  check_same_kind(shown, c[0], c[1]);
  const DimsView rows = A.sizes().first(A.sizes().size() - 1);
  const bool vector = B.dim() == 1 || (B.dim() == A.dim() - 1 &&
                                       std::equal(rows.begin(), rows.end(), B.sizes().begin()));
  const Tensor right = vector ? unsqueeze(c[1], -1) : c[1];
  check(A.size(-2) == right.size(-2), Code::shape, shown,
        ": input.size(-2) should match other.size(", vector ? "-1" : "-2", "), got ", A, " and ",
        B);
  const Dims batch = broadcast_shapes(batch_sizes(A), batch_sizes(right));
  const Tensor a = expand(c[0], joined(batch, {A.size(-2), A.size(-1)}));
  const Tensor b = expand(right, joined(batch, {right.size(-2), right.size(-1)}));
  const double bound = bound_of(driver, rcond.value_or(default_tolerance(a)), a.dtype());
  Call recorded{kLeastSquaresOp, {a, b}};
  Least found;
  bool off = false;  // whether there are residuals to speak of
  const Tensor none = zeros(Dims{0}, a.dtype(), a.device());
  {
    const GradMode no_grad(false);
    const Tensor in = detach(a), out = detach(b);
    found = values && in.numel() > 0 ? by_values(in, out, bound) : by_factors(in, out, bound, gels);
    const bool full = gels || is_true(all(eq(found.rank, num(in.size(-1)))));
    off = full && (gels || values) && in.size(-2) > in.size(-1);
  }
  Tensor ys[] = {found.x,
                 zeros(Dims{0}, a.dtype(),
                       a.device())};  // residuals that are not computed still have a history
  recorded.track_all(ys, LstsqBackward{recorded.save(a), recorded.save(b)});
  Tensor residuals = ys[1];
  if (off) {
    const Tensor rest = sub(matmul(a, ys[0]), b);
    const int64_t down = -2;
    residuals = sum(mul(rest, rest), {&down, 1});
  }
  return {vector ? squeeze(ys[0], Dims{-1}) : ys[0], residuals,
          gels ? zeros(Dims{0}, Dtype::i64, a.device()) : found.rank,
          found.sizes ? found.sizes
          : values ? zeros(joined(batch, {std::min(a.size(-2), a.size(-1))}), a.dtype(), a.device())
                   : none};
}

}  // namespace flambeau::ops
