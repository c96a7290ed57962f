// The elementwise loop of float around a form of a functor on eight numbers, `OnEights`, for
// processors with AVX2: a function by pieces, whose row's place is found apart (piece_rows.h). The
// form says by `usual` in which lanes it holds; the others are the functor's own, or those of a
// functor that it names by `using Others`, so that no result depends on a number's neighbours.
#pragma once
#include <cstring>

#include "kernels/map/map_loop.h"
#if FLAM_ISA_RANK == 1
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

// What the form's unusual lanes are: the functor's, or what the form names for them alone.
template <class F, class OnEights> struct OthersOf {
  using type = F;
};
template <class F, class OnEights>
  requires requires { typename OnEights::Others; }
struct OthersOf<F, OnEights> {
  using type = typename OnEights::Others;
};

// Some eights: first all their places, which the loads of rows then need not wait for.
inline constexpr int64_t kEightsAtOnce = 64;

// Of which the form's own are its lanes in `usual`. The others are computed beside all, because
// vectors of them cost less than two numbers of eight, one after the other.
template <class Others, class OnEights>
__attribute__((noinline)) void unusual_eights(const Others& others, const OnEights& form, int64_t n,
                                              float* out, const float* in, const uint32_t* place) {
  constexpr int64_t part = 16;  // of which most are usual where few numbers are not
  alignas(32) float other[part] = {};
  for (int64_t begin = 0; begin < n; begin += part) {
    const int64_t end = n - begin < part ? n : begin + part;
    int usual = 0xff;
    for (int64_t i = begin; i < end; i += 8)
      usual &= _mm256_movemask_ps(form.usual(_mm256_loadu_ps(in + i)));
    if (usual != 0xff) {
      for (int64_t i = begin; i < end; ++i) other[i - begin] = others(in[i]);
    }
    for (int64_t i = begin; i < end; i += 8) {
      const __m256 x = _mm256_loadu_ps(in + i), rest = _mm256_load_ps(other + (i - begin));
      _mm256_storeu_ps(out + i, _mm256_blendv_ps(rest, form(x, place + i), form.usual(x)));
    }
  }
}

template <class Others, class OnEights>
FLAM_FN void map_some(const Others& others, const OnEights& form, int64_t n, float* out,
                      const float* in) {
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
    unusual_eights(others, form, n, out, in, place);
  }
}

template <class F, class OnEights>
__attribute__((noinline)) void map_eights(const double* params, int64_t n, float* out,
                                          const float* in) {
  using Others = typename OthersOf<F, OnEights>::type;
  const Others others = functor_from<Others>(params);
  const OnEights form{};
  int64_t i = 0;
  for (; i + kEightsAtOnce <= n; i += kEightsAtOnce)
    map_some(others, form, kEightsAtOnce, out + i, in + i);
  const int64_t whole = (n - i) / 8 * 8;
  map_some(others, form, whole, out + i, in + i);
  i += whole;
  if (i == n) return;
  float last[8] = {};
  memcpy(last, in + i, size_t(n - i) * sizeof(float));
  map_some(others, form, 8, last, last);
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
