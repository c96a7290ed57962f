// Singular values and vectors, by divide and conquer on a bidiagonal form. In f64 for f32 matrices
// too, which are rounded once: the solver takes a compiler most of a minute for each type.
#include <Eigen/SVD>

#include "kernels/factor/factor_eigen.h"

namespace flambeau {

using namespace factor;

void factor_singular(const Tensor& a, const Tensor& s, const Tensor& u, const Tensor& vt,
                     const Tensor& info) {
  const int64_t m = a.size(-1), n = a.size(-2), k = std::min(m, n);
  unsigned wanted = 0;
  if (u) {
    wanted = u.size(-2) == m && vt.size(-1) == n ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                                 : Eigen::ComputeThinU | Eigen::ComputeThinV;
  }
  each_matrix(a, [&](auto tag, int64_t i) {
    using T = decltype(tag);
    const Matrix<double> in = matrix<T>(a, i).template cast<double>();
    int32_t& failed = info.data_as<int32_t>()[i];
    failed = !in.allFinite();
    if (failed) return;
    const Eigen::BDCSVD<Matrix<double>> found(in, wanted);
    if (found.info() != Eigen::Success) {
      failed = 2;
      return;
    }
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(s.data_as<T>() + i * k, k) =
        found.singularValues().template cast<T>();
    if (!u) return;
    matrix<T>(u, i) = found.matrixU().template cast<T>();
    matrix<T>(vt, i) = found.matrixV().transpose().template cast<T>();
  });
}

}  // namespace flambeau
