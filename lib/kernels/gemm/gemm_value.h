// The arithmetic type of a matrix product, and the end of every product: one element's way from its
// sum of products to the output. Integers are unsigned inside, so that they wrap instead of
// overflowing.
#pragma once
#include "kernels/gemm/gemm.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class T> struct GemmComputeOf {
  using type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};
template <> struct GemmComputeOf<float> {
  using type = float;
};
template <> struct GemmComputeOf<double> {
  using type = double;
};
template <> struct GemmComputeOf<Half> {
  using type = float;
};
template <> struct GemmComputeOf<BFloat16> {
  using type = float;
};
template <class T> using GemmCompute = typename GemmComputeOf<T>::type;

template <class T> FLAM_FN GemmCompute<T> gemm_load(const T* p) {
  return static_cast<GemmCompute<T>>(*p);
}

template <class C> FLAM_FN C gemm_scalar(double v) {
  if constexpr (std::is_integral_v<C>) {
    return C(int64_t(v));
  } else {
    return C(v);
  }
}

template <class T> FLAM_FN T gemm_finish(GemmCompute<T> sum, Activation activation) {
  T v = static_cast<T>(sum);
  if (activation == Activation::relu && static_cast<Compute<T>>(v) < Compute<T>(0)) v = T(0);
  return v;
}

}  // namespace flambeau::FLAM_TARGET
