// Eigen as the factorizations see it: no assertions that abort, no threads of its own, only what is
// under MPL 2, and tensors as batches of its matrices.
#pragma once
#define EIGEN_NO_DEBUG
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#include <Eigen/Core>

#include "base/thread_pool.h"
#include "kernels/factor/factor.h"

namespace flambeau::factor {

template <class T> using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T> using View = Eigen::Map<Matrix<T>>;

inline int64_t batch_of(const Tensor& a) { return numel_of(a.sizes().first(a.sizes().size() - 2)); }

// Matrix i of a batch.
template <class T> View<T> matrix(const Tensor& a, int64_t i) {
  const int64_t rows = a.size(-1), cols = a.size(-2);
  return {a.data_as<T>() + i * rows * cols, rows, cols};
}

// Calls f(a value of the dtype, i) for every matrix of the batch.
template <class F> void each_matrix(const Tensor& a, const F& f) {
  parallel_for(batch_of(a), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (a.dtype() == Dtype::f64) {
        f(double(), i);
      } else {
        f(float(), i);
      }
    }
  });
}

}  // namespace flambeau::factor
