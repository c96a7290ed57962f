// Conversions by the instructions that GPUs have for them: two f32 to a register of half types and
// back, f32 to tf32 (nearest, ties away from zero). Of NaNs the instructions make one of their own.
// GPUs before 8.0, whose f32 products are plain, keep f32.
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

__device__ __forceinline__ bool either_nan(float a, float b) { return a != a || b != b; }

// Whether widening may make another NaN of one.
template <class T> inline constexpr bool kPairsLoseNan = std::is_same_v<T, Half>;

template <class T>
__device__ __forceinline__ void widen_pair(uint32_t both, float& low, float& high) {
  if constexpr (std::is_same_v<T, Half>) {
#if defined(FLAM_EMU)
    low = half_to_float(uint16_t(both));
    high = half_to_float(uint16_t(both >> 16));
#else
    asm("{.reg .b16 l, h;\n"
        "mov.b32 {l, h}, %2;\n"
        "cvt.f32.f16 %0, l;\n"
        "cvt.f32.f16 %1, h;}"
        : "=f"(low), "=f"(high)
        : "r"(both));
#endif
  } else {
    low = bits_as<float>(both << 16);
    high = bits_as<float>(both & 0xffff0000u);
  }
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
