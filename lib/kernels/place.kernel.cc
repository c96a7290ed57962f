// The formulas of the position, and the loop around them.
#include "kernels/place.h"

#include <cmath>
#include <type_traits>

#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
#else
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

// A double as T; through an integer of full width where T is one, so that 300 becomes 44 in u8 everywhere.
template <class T> FLAM_FN T from_double(double v) {
  if constexpr (std::is_integral_v<T>) {
    return T(int64_t(v));
  } else {
    return narrow<T>(static_cast<Compute<T>>(v));
  }
}

struct Range {
  template <class T> FLAM_FN static T at(const PlaceArgs& a, int64_t i, T) {
    if constexpr (std::is_integral_v<T>) {
      return T(a.whole[0] + i * a.whole[1]);
    } else {
      return from_double<T>(a.real[0] + double(i) * a.real[1]);
    }
  }
};

// Both halves count from their own end, which is then met exactly.
FLAM_FN double between(const PlaceArgs& a, int64_t i) {
  const int64_t n = a.whole[0];
  return i < n / 2 || n == 1 ? a.real[0] + double(i) * a.real[2] : a.real[1] - double(n - 1 - i) * a.real[2];
}

struct Linspace {
  template <class T> FLAM_FN static T at(const PlaceArgs& a, int64_t i, T) {
    return from_double<T>(between(a, i));
  }
};

struct Logspace {
  template <class T> FLAM_FN static T at(const PlaceArgs& a, int64_t i, T) {
    return from_double<T>(pow(a.real[3], between(a, i)));
  }
};

FLAM_FN int64_t column_minus_row(const PlaceArgs& a, int64_t i) {
  return i % a.whole[1] - i / a.whole[1] % a.whole[0];
}

struct Tril {
  template <class T> FLAM_FN static T at(const PlaceArgs& a, int64_t i, T x) {
    return column_minus_row(a, i) <= a.whole[2] ? x : T(0.0f);
  }
};

struct Triu {
  template <class T> FLAM_FN static T at(const PlaceArgs& a, int64_t i, T x) {
    return column_minus_row(a, i) >= a.whole[2] ? x : T(0.0f);
  }
};

template <class F, class T> FLAM_FN void place(const PlaceArgs& a, int64_t i) {
  const T x = a.in ? reinterpret_cast<const T*>(a.in)[i] : T(0.0f);
  reinterpret_cast<T*>(a.out)[i] = F::template at<T>(a, i, x);
}

#if defined(FLAM_DEVICE_SOURCE)

template <class F, class T> __global__ void place_kernel(PlaceArgs a) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.numel; i += step) place<F, T>(a, i);
}

template <class F, class T> void place_entry(void* stream, const void* p) {
  const PlaceArgs& a = *static_cast<const PlaceArgs*>(p);
  const int64_t blocks = (a.numel + 255) / 256;
  FLAM_LAUNCH((place_kernel<F, T>), dim3(unsigned(blocks < 65535 ? blocks : 65535)), dim3(256), 0, stream, a);
}

#else

template <class F, class T> void place_entry(void*, const void* p) {
  const PlaceArgs& a = *static_cast<const PlaceArgs*>(p);
  parallel_for(a.numel, 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) place<F, T>(a, i);
  });
}

#endif

template <class F, class... T> bool register_place(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &place_entry<F, T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_place =
    register_place<Range>(kRange, NumberTypes{}) && register_place<Linspace>(kLinspace, NumberTypes{}) &&
    register_place<Logspace>(kLogspace, NumberTypes{}) && register_place<Tril>(kTril, AllTypes{}) &&
    register_place<Triu>(kTriu, AllTypes{});

}  // namespace flambeau::FLAM_TARGET
