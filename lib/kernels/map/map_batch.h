// What a loop on vectors takes at once, of any floating type: half types are converted in registers
// and rounded once, so that nothing goes through memory.
#pragma once
#include "kernels/map/several.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

// Vectors: as many as find room, with eight of doubles' longer formulas, or as few as hold a whole
// register of a half type; of bfloat16 its even and its odd elements, which need no permutation.
template <class T> inline constexpr int kMost = sizeof(T) == 8 ? 8 : 4;
template <class T> inline constexpr int kFewest = sizeof(T) == 2 ? 2 : 1;

template <class T, int N> struct Batch : Several<Compute<T>, N> {
  using C = Compute<T>;
  static constexpr int kLaneCount = kLanes<C>, kElements = N * kLaneCount;
  using Several<C, N>::v;

  FLAM_FN explicit Batch(const T* p) {
#pragma GCC unroll 8
    for (int i = 0; i < N; i += kFewest<T>) {
      if constexpr (std::is_same_v<T, BFloat16>) {
        const __m512i both = _mm512_loadu_si512(p + i * kLaneCount);
        v[i] = (Vector<C>)((Vector<uint32_t>)both << 16);
        v[i + 1] = (Vector<C>)_mm512_and_si512(both, _mm512_set1_epi32(int32_t(0xffff0000)));
      } else {
        for (int k = 0; k < kFewest<T>; ++k) v[i + k] = load_as(p + (i + k) * kLaneCount);
      }
    }
  }
  FLAM_FN explicit Batch(const Several<C, N>& s) : Several<C, N>(s) {}

  FLAM_FN void store(T* p) const {  // NaN is the usual one, or has no bits that rounding carries
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      if constexpr (std::is_same_v<T, C>) {
        store_vector<C>(p + i * kLaneCount, v[i]);
      } else if constexpr (std::is_same_v<T, Half>) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + i * kLaneCount),
                            _mm512_maskz_cvtps_ph(0xffff, v[i], _MM_FROUND_TO_NEAREST_INT));
      } else if (i % 2) {
        const auto even = (__m512i)(to_nearest(v[i - 1]) >> 16), odd = (__m512i)to_nearest(v[i]);
        _mm512_storeu_si512(p + (i - 1) * kLaneCount,
                            _mm512_mask_blend_epi16(0xaaaaaaaa, even, odd));
      }
    }
  }

 private:
  FLAM_FN static Vector<uint32_t> to_nearest(Vector<float> x) {  // in the upper half
    const auto bits = (Vector<uint32_t>)x;
    // bits - ~(0x7ffe | lowest bit that stays) is bits + 0x7fff + that bit, an operation less.
    const auto other = (Vector<uint32_t>)_mm512_ternarylogic_epi32(
        (__m512i)(bits >> 16), _mm512_set1_epi32(1), _mm512_set1_epi32(0x7ffe), 0x15);
    return bits - other;
  }
};

template <class T> struct Padded {
  alignas(64) T at[Batch<T, kFewest<T>>::kElements] = {};
  Padded(const T* p, int64_t n) { memcpy(at, p, size_t(n) * sizeof(T)); }
  const T* begin() const { return at; }
};

#endif

}  // namespace flambeau::FLAM_TARGET
