// Singular values and principal components of which only the greatest are wanted, from what random
// vectors become under the matrix and its transpose. Source: Halko, Martinsson and Tropp, 2009,
// arXiv 0909.4061, algorithms 4.4 and 5.1.
#include <algorithm>

#include "ops/linalg/factors.h"

namespace flambeau::ops {

namespace {

constexpr int64_t kMostRounds = 1000;  // a basis does not get better by more

Tensor turned(const Tensor& x) { return x ? mt(x) : x; }

Tensor less_mean(const Tensor& a, const Tensor& mean, const Tensor& x) {
  const Tensor product = matmul(a, x);
  return mean ? sub(product, matmul(mean, x)) : product;
}

// Columns that span what `q` random vectors become.
Tensor basis(const Tensor& a, const Tensor& mean, int64_t q, int64_t niter) {
  const Tensor start = randn(Dims{a.size(-1), q}, nullptr, a.dtype(), a.device());
  const auto next = [](const Tensor& m, const Tensor& less, const Tensor& x) {
    return std::get<0>(linalg_qr(less_mean(m, less, x), "reduced"));
  };
  Tensor found = next(a, mean, start);
  for (int64_t i = 0; i < niter; ++i) {
    found = next(turned(a), turned(mean), found);
    found = next(a, mean, found);
  }
  return found;
}

using Factors = std::tuple<Tensor, Tensor, Tensor>;

Factors greatest(const Tensor& a, const Tensor& mean, int64_t q, int64_t niter) {
  const Tensor onto = basis(a, mean, q, niter);
  const auto [U, S, Vh] = linalg_svd(less_mean(turned(onto), {}, mean ? sub(a, mean) : a), false);
  return {matmul(onto, U), S, turned(Vh)};
}

void check_numbers(const char* op, const Tensor& a, int64_t q, int64_t niter) {
  check_matrix(op, "A", a);
  if (!modes.autocast) check_floating_matrix(op, a);  // else each step takes what it can
  check(q >= 0, Code::invalid_argument, op, "(): q(=", q, ") must be non-negative integer");
  check(niter >= 0 && niter <= kMostRounds, Code::invalid_argument, op, "(): niter(=", niter,
        ") must be non-negative integer, ", kMostRounds, " at most");
}

}  // namespace

Factors svd_lowrank(const Tensor& A, int64_t q, int64_t niter, const Tensor& M) {
  const Call c{op::svd_lowrank, {A, M}};
  check_numbers(op::svd_lowrank, A, q, niter);
  q = std::min({q, A.size(-2), A.size(-1)});  // more would make its basis singular
  const Tensor mean = M ? expand(M, A.sizes()) : M;
  if (A.size(-2) >= A.size(-1)) return greatest(A, mean, q, niter);
  auto [V, S, U] = greatest(turned(A), turned(mean), q, niter);
  return {U, S, V};
}

Factors pca_lowrank(const Tensor& A, std::optional<int64_t> q, bool center, int64_t niter) {
  check_numbers(op::pca_lowrank, A, q.value_or(0), niter);
  const int64_t most = std::min(A.size(-2), A.size(-1)),
                count = q.value_or(std::min<int64_t>(6, most));
  check(count <= most, Code::invalid_argument, "pca_lowrank(): q(=", count,
        ") must be non-negative integer and not greater than min(m, n)=", most);
  const int64_t rows[] = {-2};
  return svd_lowrank(center ? sub(A, mean(A, rows, true)) : A, count, niter, {});
}

}  // namespace flambeau::ops
