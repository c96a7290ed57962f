// The elementwise loop of float around a form of a functor on eight numbers, `OnEights`, for
// processors with AVX2: a function by pieces, whose row's place is found apart (piece_rows.h). The
// form says by `usual` in which lanes it holds; the others are the functor's own, so that no result
// depends on a number's neighbours.
#pragma once
#include <cstring>

#include "kernels/map/map_loop.h"
#if FLAM_ISA_RANK == 1
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

// Eight numbers, of which the form's own are its lanes in `usual`.
template <class F, class OnEights>
__attribute__((noinline)) void unusual_eight(const F& f, const OnEights& form, const float* in,
                                             float* out) {
  const __m256 x = _mm256_loadu_ps(in);
  const int usual = _mm256_movemask_ps(form.usual(x));
  alignas(32) uint32_t place[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(place), form.place(x));
  alignas(32) float number[8], y[8];
  _mm256_store_ps(number, x);
  _mm256_store_ps(y, form(x, place));
  for (int i = 0; i < 8; ++i) {
    if (!(usual >> i & 1)) y[i] = f(number[i]);
  }
  _mm256_storeu_ps(out, _mm256_load_ps(y));
}

// Some eights: first all their places, which the loads of rows then need not wait for.
inline constexpr int64_t kEightsAtOnce = 64;
template <class F, class OnEights>
FLAM_FN void map_some(const F& f, const OnEights& form, int64_t n, float* out, const float* in) {
  alignas(32) uint32_t place[kEightsAtOnce];
  __m256 usual = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  for (int64_t i = 0; i < n; i += 8) {
    const __m256 x = _mm256_loadu_ps(in + i);
    usual = _mm256_and_ps(usual, form.usual(x));
    _mm256_store_si256(reinterpret_cast<__m256i*>(place + i), form.place(x));
  }
  if (_mm256_movemask_ps(usual) == 0xff) [[likely]] {
    for (int64_t i = 0; i < n; i += 8)
      _mm256_storeu_ps(out + i, form(_mm256_loadu_ps(in + i), place + i));
  } else {
    for (int64_t i = 0; i < n; i += 8) unusual_eight(f, form, in + i, out + i);
  }
}

template <class F, class OnEights>
__attribute__((noinline)) void map_eights(const double* params, int64_t n, float* out,
                                          const float* in) {
  const F f = functor_from<F>(params);
  const OnEights form{};
  int64_t i = 0;
  for (; i + kEightsAtOnce <= n; i += kEightsAtOnce)
    map_some(f, form, kEightsAtOnce, out + i, in + i);
  const int64_t whole = (n - i) / 8 * 8;
  map_some(f, form, whole, out + i, in + i);
  i += whole;
  if (i == n) return;
  float last[8] = {};
  memcpy(last, in + i, size_t(n - i) * sizeof(float));
  map_some(f, form, 8, last, last);
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
