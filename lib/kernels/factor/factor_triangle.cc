// Factors that are triangles: LU with row pivots, Cholesky, and solutions by triangles. Blocks of
// columns are factored one by one; the rest of the matrix takes products.
#include "kernels/factor/factor_eigen.h"

namespace flambeau {

namespace {

using namespace factor;

constexpr int64_t kColumns = 48;

template <class T> int64_t greatest_of(const T* column, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    if (std::abs(column[i]) > std::abs(column[best])) best = i;
  }
  return best;
}

// Columns first .. first + width of a, whose rows above `first` are done.
template <class T> void lu_panel(View<T>& a, int64_t first, int64_t width, int32_t* pivots,
                                 int32_t& info) {
  const int64_t m = a.rows();
  for (int64_t j = first; j < first + width; ++j) {
    const int64_t pivot = j + greatest_of(&a(j, j), m - j), below = m - j - 1;
    pivots[j] = int32_t(pivot + 1);
    if (pivot != j) a.row(j).swap(a.row(pivot));
    if (a(j, j) == T(0)) {
      if (info == 0) info = int32_t(j + 1);
      continue;
    }
    a.col(j).tail(below) /= a(j, j);
    const int64_t right = first + width - j - 1;
    a.block(j + 1, j + 1, below, right).noalias() -=
        a.col(j).tail(below) * a.row(j).segment(j + 1, right);
  }
}

template <class T> void lu(View<T> a, int32_t* pivots, int32_t& info) {
  const int64_t m = a.rows(), n = a.cols(), k = std::min(m, n);
  for (int64_t first = 0; first < k; first += kColumns) {
    const int64_t width = std::min(kColumns, k - first), after = first + width;
    lu_panel(a, first, width, pivots, info);
    if (after == n) break;
    auto above = a.block(first, after, width, n - after);
    a.block(first, first, width, width)
        .template triangularView<Eigen::UnitLower>()
        .solveInPlace(above);
    a.block(after, after, m - after, n - after).noalias() -=
        a.block(after, first, m - after, width) * above;
  }
}

template <class T> int32_t cholesky_panel(View<T>& a, int64_t first, int64_t width) {
  for (int64_t j = first; j < first + width; ++j) {
    if (!(a(j, j) > T(0))) return int32_t(j + 1);
    a(j, j) = std::sqrt(a(j, j));
    const int64_t below = first + width - j - 1;
    auto column = a.col(j).segment(j + 1, below);
    column /= a(j, j);
    for (int64_t i = 0; i < below; ++i) {
      a.col(j + 1 + i).segment(j + 1 + i, below - i) -= column(i) * column.tail(below - i);
    }
  }
  return 0;
}

template <class T> int32_t cholesky(View<T> a) {
  const int64_t n = a.rows();
  a.template triangularView<Eigen::StrictlyUpper>().setZero();
  for (int64_t first = 0; first < n; first += kColumns) {
    const int64_t width = std::min(kColumns, n - first), after = first + width;
    if (const int32_t info = cholesky_panel(a, first, width)) return info;
    if (after == n) break;
    auto below = a.block(after, first, n - after, width);
    a.block(first, first, width, width)
        .template triangularView<Eigen::Lower>()
        .transpose()
        .template solveInPlace<Eigen::OnTheRight>(below);
    a.block(after, after, n - after, n - after)
        .template selfadjointView<Eigen::Lower>()
        .rankUpdate(below, T(-1));
  }
  return 0;
}

template <unsigned Mode, class T> void solve(const View<T>& a, View<T> b) {
  a.template triangularView<Mode>().solveInPlace(b);
}

}  // namespace

void factor_lu(const Tensor& a, const Tensor& pivots, const Tensor& info) {
  const int64_t k = std::min(a.size(-1), a.size(-2));
  each_matrix(a, [&](auto tag, int64_t i) {
    lu(matrix<decltype(tag)>(a, i), pivots.data_as<int32_t>() + i * k, info.data_as<int32_t>()[i]);
  });
}

void factor_cholesky(const Tensor& a, const Tensor& info) {
  each_matrix(a, [&](auto tag, int64_t i) {
    info.data_as<int32_t>()[i] = cholesky(matrix<decltype(tag)>(a, i));
  });
}

void solve_triangle(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  each_matrix(a, [&](auto tag, int64_t i) {
    using T = decltype(tag);
    const View<T> triangle = matrix<T>(a, i);
    if (upper) {
      unit ? solve<Eigen::UnitUpper>(triangle, matrix<T>(b, i))
           : solve<Eigen::Upper>(triangle, matrix<T>(b, i));
    } else {
      unit ? solve<Eigen::UnitLower>(triangle, matrix<T>(b, i))
           : solve<Eigen::Lower>(triangle, matrix<T>(b, i));
    }
  });
}

}  // namespace flambeau
