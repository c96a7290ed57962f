// What a functor's file may use on every target: FLAM_FN, the lists of dtypes it is compiled for,
// the type it computes in, and registration. Everything lives in flambeau::FLAM_TARGET, because the
// same source is compiled several times into one library and the linker would merge equal names
// (and pick one at random).
#pragma once
#include <type_traits>

#include "base/dtype.h"
#include "kernels/kernel.h"

#if defined(__CUDACC__) || defined(FLAM_EMU)
#define FLAM_DEVICE_SOURCE \
  1  // CUDA C++: by nvcc, or by the host compiler through the emulation header
#define FLAM_FN __host__ __device__ __forceinline__
#else
#define FLAM_FN inline __attribute__((always_inline))
#endif
// A function too long for a copy of its own in every loop.
#if defined(__CUDACC__)
#define FLAM_FN_APART [[maybe_unused]] static __host__ __device__ __noinline__
#else
#define FLAM_FN_APART [[maybe_unused]] static __attribute__((noinline))
#endif
#if defined(FLAM_EMU)
#include "cuda_on_cpu.h"
#endif
#if !defined(FLAM_ISA_RANK)
#define FLAM_ISA_RANK 0
#endif

namespace flambeau::FLAM_TARGET {

#if defined(FLAM_EMU)
inline constexpr KernelColumn kColumn = KernelColumn::emu;
#elif defined(__CUDACC__)
inline constexpr KernelColumn kColumn = KernelColumn::cuda;
#else
inline constexpr KernelColumn kColumn = KernelColumn::host;
#endif

template <class... T> struct TypeList {};
using FloatTypes = TypeList<float, double, Half, BFloat16>;
using IntTypes = TypeList<int64_t, int32_t, int16_t, int8_t, uint8_t>;
using IntBoolTypes = TypeList<int64_t, int32_t, int16_t, int8_t, uint8_t, bool>;
using NumberTypes =
    TypeList<float, double, Half, BFloat16, int64_t, int32_t, int16_t, int8_t, uint8_t>;
using AllTypes =
    TypeList<float, double, Half, BFloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, bool>;

// Half types are widened to float for arithmetic and rounded once when stored.
template <class T> struct ComputeOf {
  using type = T;
};
template <> struct ComputeOf<Half> {
  using type = float;
};
template <> struct ComputeOf<BFloat16> {
  using type = float;
};
template <class T> using Compute = typename ComputeOf<T>::type;

template <class T> FLAM_FN Compute<T> load(const T* p) { return static_cast<Compute<T>>(*p); }

template <class T, class V> FLAM_FN T narrow(V v) {
  if constexpr (sizeof(T) == 2 && !std::is_integral_v<T> && !std::is_same_v<V, float>) {
    return T(static_cast<float>(v));
  } else {
    return static_cast<T>(v);
  }
}

}  // namespace flambeau::FLAM_TARGET
