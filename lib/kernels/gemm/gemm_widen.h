// Vectors of a storage type in the arithmetic type, as load_as has them, for the loops of products:
// of bfloat16 by one conversion, where gcc 12 makes two halves of a register and joins them.
#pragma once
#include "kernels/gemm/gemm_vector.h"

namespace flambeau::FLAM_TARGET {

template <class T> FLAM_FN Vector<GemmCompute<T>> load_wide(const T* p) {
#if FLAM_ISA_RANK > 0
  if constexpr (std::is_same_v<T, BFloat16>) {
#if FLAM_ISA_RANK == 2
    const auto halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const auto words = (Vector<uint32_t>)_mm512_maskz_cvtepu16_epi32(0xffff, halves);
#else
    const auto halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const auto words = (Vector<uint32_t>)_mm256_cvtepu16_epi32(halves);
#endif
    return (Vector<float>)(words << 16);
  }
#endif
  return load_as(p);
}

}  // namespace flambeau::FLAM_TARGET
