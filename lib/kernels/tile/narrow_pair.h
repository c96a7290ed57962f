// Rounding on the way into fragments: two f32 to a register of half types, f32 to tf32 (nearest,
// ties away from zero). GPUs before 8.0, whose f32 products are plain, keep f32.
#pragma once
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class T> __device__ __forceinline__ uint32_t narrow_pair(float low, float high) {
#if !defined(FLAM_EMU) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
  uint32_t both;
  if constexpr (std::is_same_v<T, Half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  }
  return both;
#else
  return uint32_t(T(low).bits) | uint32_t(T(high).bits) << 16;
#endif
}

__device__ __forceinline__ uint32_t to_tf32(float v) {
#if defined(FLAM_EMU)
  const uint32_t bits = bits_as<uint32_t>(v);
  if ((bits & 0x7fffffffu) >= 0x7f800000u) return bits;
  return (bits + 0x1000u) & ~0x1fffu;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return bits_as<uint32_t>(v);
#else
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
  return bits;
#endif
}

}  // namespace flambeau::FLAM_TARGET
