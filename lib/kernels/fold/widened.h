// Runs of elements for loops that compute: f16 is converted to float first, by vectors, because gcc
// knows no vector form of its conversion; other types are converted where they are read.
#pragma once
#include "kernels/gemm/gemm_vector.h"

namespace flambeau::FLAM_TARGET {

#if defined(__F16C__)
template <class T> inline constexpr bool kWidens = std::is_same_v<T, Half>;
#else
template <class T> inline constexpr bool kWidens = false;
#endif

// Of at most N elements, until it is used again.
template <class T, int N, bool = kWidens<T>> struct Widened {
  FLAM_FN const T* operator()(const T* x, int64_t) { return x; }
};
template <class T, int N> struct Widened<T, N, true> {
  alignas(64) float block[N];
  FLAM_FN const float* operator()(const T* x, int64_t n) {
    int64_t i = 0;
    for (; i + kLanes<float> <= n; i += kLanes<float>) store_vector(block + i, load_as(x + i));
    for (; i < n; ++i) block[i] = load(x + i);
    return block;
  }
};

}  // namespace flambeau::FLAM_TARGET
