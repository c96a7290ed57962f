// Orthogonal factors: QR by Householder's reflections, and least squares by a complete orthogonal
// decomposition in f64, which also solves where columns depend on each other.
#include <Eigen/QR>

#include "kernels/factor/factor_eigen.h"

namespace flambeau {

using namespace factor;

void factor_qr(const Tensor& a, const Tensor& q, const Tensor& r) {
  each_matrix(a, [&](auto tag, int64_t i) {
    using T = decltype(tag);
    Eigen::Ref<Matrix<T>> in = matrix<T>(a, i);
    const Eigen::HouseholderQR<Eigen::Ref<Matrix<T>>> qr(in);
    View<T> upper = matrix<T>(r, i);
    upper = in.topRows(upper.rows()).template triangularView<Eigen::Upper>();
    if (!q) return;
    View<T> basis = matrix<T>(q, i);
    basis.setIdentity();
    basis.applyOnTheLeft(qr.householderQ());
  });
}

void factor_reflections(const Tensor& a, const Tensor& tau) {
  each_matrix(a, [&](auto tag, int64_t i) {
    using T = decltype(tag);
    Eigen::Ref<Matrix<T>> in = matrix<T>(a, i);
    const Eigen::HouseholderQR<Eigen::Ref<Matrix<T>>> qr(in);
    std::copy_n(qr.hCoeffs().data(), tau.size(-1), tau.data_as<T>() + i * tau.size(-1));
  });
}

void solve_least_squares(const Tensor& a, const Tensor& b, const Tensor& x, const Tensor& rank,
                         double rcond) {
  each_matrix(a, [&](auto tag, int64_t i) {
    using T = decltype(tag);
    Eigen::CompleteOrthogonalDecomposition<Matrix<double>> found(a.size(-1), a.size(-2));
    found.setThreshold(rcond);
    found.compute(matrix<T>(a, i).template cast<double>());
    const Matrix<double> right = matrix<T>(b, i).template cast<double>();
    matrix<T>(x, i) = found.solve(right).template cast<T>();
    rank.data_as<int64_t>()[i] = found.rank();
  });
}

}  // namespace flambeau
