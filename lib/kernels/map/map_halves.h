// Numbers of f16 where the processor converts them (F16C): by registers, and a loop around a
// functor in which they stay there, because what goes through a block in the first cache takes
// twice the time of an addition. Parts of a chunk are padded to one: no result depends on where it
// lies.
#pragma once
#include <cstring>
#include <utility>

#include "kernels/types.h"
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if defined(__F16C__)

template <int N> FLAM_FN void widen_halves(float* to, const Half* from) {
#if defined(__AVX512F__)
  if constexpr (N == 16) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    _mm512_storeu_ps(to, _mm512_maskz_cvtph_ps(0xffff, halves));
  }
#endif
  if constexpr (N == 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_ps(to, _mm256_cvtph_ps(halves));
  }
}

template <int N> FLAM_FN void narrow_halves(Half* to, const float* from) {
#if defined(__AVX512F__)
  if constexpr (N == 16) {
    const __m256i halves =
        _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves);
  }
#endif
  if constexpr (N == 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
  }
}

inline constexpr int kHalvesAtOnce = FLAM_ISA_RANK == 2 ? 16 : 8;

// Of so few numbers the compiler keeps the arrays in registers.
template <class F, class... In> FLAM_FN void half_chunk(const F& f, Half* out, const In*... in) {
  constexpr int kCount = kHalvesAtOnce;
  [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    alignas(64) float x[sizeof...(In)][kCount], y[kCount];
    (widen_halves<kCount>(x[I], in), ...);
    for (int i = 0; i < kCount; ++i) y[i] = f(x[I][i]...);
    narrow_halves<kCount>(out, y);
  }(std::index_sequence_for<In...>{});
}

struct PaddedHalves {
  Half at[kHalvesAtOnce] = {};
  PaddedHalves(const Half* from, int64_t n) { memcpy(at, from, size_t(n) * sizeof(Half)); }
};

template <class F, class... In>
FLAM_FN void halves_loop(const F& f, int64_t n, Half* out, const In*... in) {
  int64_t i = 0;
  for (; i + kHalvesAtOnce <= n; i += kHalvesAtOnce) half_chunk(f, out + i, (in + i)...);
  if (i == n) return;
  Half last[kHalvesAtOnce];
  half_chunk(f, last, PaddedHalves(in + i, n - i).at...);
  memcpy(out + i, last, size_t(n - i) * sizeof(Half));
}

inline constexpr bool kHalvesInRegisters = true;

#else

inline constexpr bool kHalvesInRegisters = false;

#endif

}  // namespace flambeau::FLAM_TARGET
