// Eigenvalues and eigenvectors of symmetric matrices.
#include <Eigen/Eigenvalues>

#include "kernels/factor/factor_eigen.h"

namespace flambeau {

using namespace factor;

void factor_symmetric(const Tensor& a, const Tensor& values, const Tensor& vectors,
                      const Tensor& info) {
  const int64_t n = a.size(-1);
  each_matrix(a, [&](auto tag, int64_t i) {
    using T = decltype(tag);
    const View<T> in = matrix<T>(a, i);
    int32_t& failed = info.data_as<int32_t>()[i];
    failed = !in.allFinite();
    if (failed) return;
    const Eigen::SelfAdjointEigenSolver<Matrix<T>> found(
        in, vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
    failed = found.info() != Eigen::Success;
    if (failed) return;
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(values.data_as<T>() + i * n, n) =
        found.eigenvalues();
    if (vectors) matrix<T>(vectors, i) = found.eigenvectors();
  });
}

}  // namespace flambeau
