// d += a b, by the matrix units: m16n8k16 of f16 or bf16 and m16n8k8 of tf32 with f32 sums, two of
// m8n8k4 of f64. All 32 lanes of a warp call it together. GPUs before 8.0 have the units for f16
// alone, eight deep, and take the rest lane by lane (mma_plain.h), f32 then unrounded.
#pragma once
#include "kernels/tile/fragment.h"
#include "kernels/tile/mma_plain.h"

namespace flambeau::FLAM_TARGET {

#if defined(FLAM_EMU)

template <class T>
__device__ void multiply(FragmentSum<T>& d, const FragmentA<T>& a, const FragmentB<T>& b) {
  constexpr int kEach = FragmentTraits<T>::kEach;
  if constexpr (std::is_same_v<T, float>) {
    const auto rough = [](uint32_t v) { return (v & 0x7fffffffu) <= 0x7f800000u && v & 0x1fffu; };
    for (uint32_t v : a.r)
      if (rough(v)) ::cuda_on_cpu::stop("an operand of a tf32 product that is not tf32");
    for (uint32_t v : b.r)
      if (rough(v)) ::cuda_on_cpu::stop("an operand of a tf32 product that is not tf32");
  }
  ::cuda_on_cpu::multiply<kEach>(d.v, a.r, b.r, fragment_element<T>);
}

#else

#define FLAM_MMA_F32(shape, types)                                                    \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." types                        \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(d.v[0]), "+f"(d.v[1]), "+f"(d.v[2]), "+f"(d.v[3])               \
               : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]))

__device__ __forceinline__ void multiply(FragmentSum<Half>& d, const FragmentA<Half>& a,
                                         const FragmentB<Half>& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  for (int h = 0; h < 2; ++h) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(d.v[0]), "+f"(d.v[1]), "+f"(d.v[2]), "+f"(d.v[3])
        : "r"(a.r[2 * h]), "r"(a.r[2 * h + 1]), "r"(b.r[h]));
  }
#else
  FLAM_MMA_F32("m16n8k16", "f16.f16");
#endif
}

__device__ __forceinline__ void multiply(FragmentSum<BFloat16>& d, const FragmentA<BFloat16>& a,
                                         const FragmentB<BFloat16>& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  multiply_plain(d, a, b);
#else
  FLAM_MMA_F32("m16n8k16", "bf16.bf16");
#endif
}

__device__ __forceinline__ void multiply(FragmentSum<float>& d, const FragmentA<float>& a,
                                         const FragmentB<float>& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  multiply_plain(d, a, b);
#else
  FLAM_MMA_F32("m16n8k8", "tf32.tf32");
#endif
}

#undef FLAM_MMA_F32

__device__ __forceinline__ void multiply(FragmentSum<double>& d, const FragmentA<double>& a,
                                         const FragmentB<double>& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  multiply_plain(d, a, b);
#else
  for (int u = 0; u < 2; ++u) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d.v[2 * u]), "+d"(d.v[2 * u + 1])
                 : "d"(a.r[u]), "d"(b.r[0]));
  }
#endif
}

#endif

}  // namespace flambeau::FLAM_TARGET
