// The elementwise loop of float around a form of a functor on eight numbers, `OnEights`, for
// processors with AVX2. The form says by `usual` in which lanes it holds; the others are the
// functor's own, so that no result depends on a number's neighbours.
#pragma once
#include <cstring>

#include "kernels/map/map_loop.h"
#if FLAM_ISA_RANK == 1
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

template <class F, class OnEights>
__attribute__((noinline)) void unusual_eight(const F& f, const OnEights& form, const float* in,
                                             int lanes, float* out) {
  const __m256 x = _mm256_loadu_ps(in);
  alignas(32) float number[8], y[8];
  _mm256_store_ps(number, x);
  _mm256_store_ps(y, form(x));
  for (int i = 0; i < 8; ++i) {
    if (!(lanes >> i & 1)) y[i] = f(number[i]);
  }
  _mm256_storeu_ps(out, _mm256_load_ps(y));
}

template <class F, class OnEights>
FLAM_FN void map_eight(const F& f, const OnEights& form, const float* in, float* out) {
  const __m256 x = _mm256_loadu_ps(in);
  const int usual = _mm256_movemask_ps(form.usual(x));
  if (usual == 0xff) [[likely]] {
    _mm256_storeu_ps(out, form(x));
  } else {
    unusual_eight(f, form, in, usual, out);
  }
}

template <class F, class OnEights>
__attribute__((noinline)) void map_eights(const double* params, int64_t n, float* out,
                                          const float* in) {
  const F f = functor_from<F>(params);
  const OnEights form{};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) map_eight(f, form, in + i, out + i);
  if (i == n) return;
  float last[8] = {};
  memcpy(last, in + i, size_t(n - i) * sizeof(float));
  map_eight(f, form, last, last);
  memcpy(out + i, last, size_t(n - i) * sizeof(float));
}

template <class F, class OnEights> void eights_entry(void*, const void* p) {
  static constexpr Dtype types[] = {Dtype::f32, Dtype::f32};
  map_blocks(*static_cast<const MapArgs*>(p), types, 2,
             &map_rows<&map_eights<F, OnEights>, float, float>, false);
}

// In the place of FLAM_MAP's loop of float, after it.
template <class F, class OnEights> bool register_eights(Kernel& k) {
  k.add(kColumn, FLAM_ISA_RANK, Dtype::f32, &eights_entry<F, OnEights>);
  return true;
}

#endif

}  // namespace flambeau::FLAM_TARGET

#if FLAM_ISA_RANK == 1 && !defined(FLAM_DEVICE_SOURCE)
#define FLAM_MAP_EIGHTS(kernel, F, OnEights)                      \
  [[maybe_unused]] static const bool registered_eights_##kernel = \
      register_eights<F, OnEights>(kernel)
#else
#define FLAM_MAP_EIGHTS(kernel, F, OnEights) static_assert(true)
#endif
