// One SIMD register of a target and what a matrix product needs of it: loads with conversion,
// partial loads and stores, fused multiply-add, sums and transposes. gcc's vector types; only fma,
// f16 and masks need intrinsics.
#pragma once
#include <cstring>

#include "kernels/gemm/gemm_value.h"
#if FLAM_ISA_RANK > 0
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2
inline constexpr int kVectorBytes = 64;
#elif FLAM_ISA_RANK == 1
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

// In an own struct, because a template argument drops the attributes of a vector type.
template <class E, int N> struct VectorOf {
  typedef E type __attribute__((vector_size(N * sizeof(E))));
};
template <class C> inline constexpr int kLanes = kVectorBytes / int(sizeof(C));
template <class C> using Vector = typename VectorOf<C, kLanes<C>>::type;

// x - 0 is x; 0 + x would be an addition in each inner loop, for of -0 it makes 0.
template <class C> FLAM_FN Vector<C> splat(C x) { return x - Vector<C>{}; }

template <class C> FLAM_FN Vector<C> load_vector(const C* p) {
  Vector<C> v;
  memcpy(&v, p, sizeof v);
  return v;
}

template <class C> FLAM_FN void store_vector(C* p, Vector<C> v) { memcpy(p, &v, sizeof v); }

#if FLAM_ISA_RANK == 1
// Sets the first n words of a register.
FLAM_FN __m256i first_words(int n) {
  alignas(64) static constexpr int32_t kWords[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kWords + 8 - n));
}
#endif

// The first n lanes; the others are zero, and memory behind them is not touched. No copy of a
// length known late: that is a call, over which the sums of a loop beside it leave the registers.
template <class C> FLAM_FN Vector<C> load_part(const C* p, int n) {
#if FLAM_ISA_RANK == 2
  if constexpr (sizeof(C) == 4) {
    return (Vector<C>)_mm512_maskz_loadu_epi32(__mmask16((1u << n) - 1), p);
  } else {
    return (Vector<C>)_mm512_maskz_loadu_epi64(__mmask8((1u << n) - 1), p);
  }
#elif FLAM_ISA_RANK == 1
  static_assert(sizeof(C) % 4 == 0);
  return (Vector<C>)_mm256_maskload_epi32(reinterpret_cast<const int*>(p),
                                          first_words(n * int(sizeof(C) / 4)));
#else
  Vector<C> v{};
  memcpy(&v, p, size_t(n) * sizeof(C));
  return v;
#endif
}

template <class C> FLAM_FN void store_part(C* p, Vector<C> v, int n) {
#if FLAM_ISA_RANK == 2
  if constexpr (sizeof(C) == 4) {
    _mm512_mask_storeu_epi32(p, __mmask16((1u << n) - 1), (__m512i)v);
  } else {
    _mm512_mask_storeu_epi64(p, __mmask8((1u << n) - 1), (__m512i)v);
  }
#elif FLAM_ISA_RANK == 1
  // By halves: AMD's masked stores take a dozen cycles.
  constexpr int words = sizeof(C) / 4;
  n *= words;
  if (n & 8) return store_vector(p, v);
  __m128i rest = _mm256_castsi256_si128((__m256i)v);
  if (n & 4) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), rest);
    rest = _mm256_extracti128_si256((__m256i)v, 1);
    p += 4 / words;
  }
  if (n & 2) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), rest);
    rest = _mm_unpackhi_epi64(rest, rest);
    p += 2 / words;
  }
  if constexpr (words == 1) {
    if (n & 1) _mm_storeu_si32(p, rest);
  }
#else
  memcpy(p, &v, size_t(n) * sizeof(C));
#endif
}

template <class C> FLAM_FN Vector<C> multiply_add(Vector<C> a, Vector<C> b, Vector<C> c) {
#if FLAM_ISA_RANK == 2
  if constexpr (std::is_same_v<C, float>) return _mm512_fmadd_ps(a, b, c);
  if constexpr (std::is_same_v<C, double>) return _mm512_fmadd_pd(a, b, c);
#elif FLAM_ISA_RANK == 1
  if constexpr (std::is_same_v<C, float>) return _mm256_fmadd_ps(a, b, c);
  if constexpr (std::is_same_v<C, double>) return _mm256_fmadd_pd(a, b, c);
#endif
  if constexpr (std::is_integral_v<C> || FLAM_ISA_RANK == 0) return a * b + c;
}

#if FLAM_ISA_RANK == 2
// Adds the products of pairs of bfloat16, where isa_rank() >= kIsaPairs. In assembly, because the
// file is compiled for processors without the instruction, too.
FLAM_FN Vector<float> add_dots(Vector<float> sums, Vector<uint32_t> x, Vector<uint32_t> y) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(x), "v"(y));
  return sums;
}

// The first n lanes, rounded to bfloat16; subnormal ones become zero.
FLAM_FN void store_rounded(BFloat16* p, Vector<float> v, int n) {
  __m256i rounded;
  asm("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(v));
  _mm256_mask_storeu_epi16(p, __mmask16((1u << n) - 1), rounded);
}
#endif

// kLanes elements of a storage type, converted.
template <class T> FLAM_FN Vector<GemmCompute<T>> load_as(const T* p) {
  using C = GemmCompute<T>;
  if constexpr (std::is_same_v<T, C> || (std::is_integral_v<T> && sizeof(T) == sizeof(C))) {
    return load_vector(reinterpret_cast<const C*>(p));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    typename VectorOf<uint16_t, kLanes<C>>::type bits;
    memcpy(&bits, p, sizeof bits);
    return (Vector<C>)(__builtin_convertvector(bits, Vector<uint32_t>) << 16);
#if FLAM_ISA_RANK == 2
  } else if constexpr (std::is_same_v<T, Half>) {
    // The masked form: gcc 12 warns of the plain one's undefined upper half.
    return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif FLAM_ISA_RANK == 1
  } else if constexpr (std::is_same_v<T, Half>) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#endif
  } else {
    Vector<C> v;
    for (int i = 0; i < kLanes<C>; ++i) v[i] = gemm_load(p + i);
    return v;
  }
}

template <class T> FLAM_FN Vector<GemmCompute<T>> load_part_as(const T* p, int n) {
  using C = GemmCompute<T>;
  if constexpr (std::is_same_v<T, C>) {
    return load_part(p, n);
  } else {
    T copy[kLanes<C>] = {};
    memcpy(copy, p, size_t(n) * sizeof(T));
    return load_as(copy);
  }
}

template <class C, int Width, size_t... I>
FLAM_FN Vector<C> add_halves(Vector<C> v, std::index_sequence<I...>) {
  return v + __builtin_shufflevector(v, v, int((I + Width) % sizeof...(I))...);
}

// By halves, in registers: a loop over lanes in memory would push out the sums still to come.
template <class C, int Width = kLanes<C> / 2> FLAM_FN C sum_of(Vector<C> v) {
  if constexpr (Width == 0) {
    return v[0];
  } else {
    return sum_of<C, Width / 2>(
        add_halves<C, Width>(v, std::make_index_sequence<size_t(kLanes<C>)>{}));
  }
}

template <class C, size_t... I>
FLAM_FN void interleave(Vector<C> a, Vector<C> b, Vector<C>& low, Vector<C>& high,
                        std::index_sequence<I...>) {
  constexpr int n = kLanes<C>;
  low = __builtin_shufflevector(a, b, int(I / 2 + (I % 2) * n)...);
  high = __builtin_shufflevector(a, b, int(n / 2 + I / 2 + (I % 2) * n)...);
}

// A square of kLanes rows in place: log2(kLanes) perfect shuffles, each of which rotates the bits
// of an element's address (row, lane) by one.
template <class C> FLAM_FN void transpose(Vector<C> (&v)[kLanes<C>]) {
  constexpr int n = kLanes<C>;
#pragma GCC unroll 8
  for (int stage = 1; stage < n; stage *= 2) {
    Vector<C> w[n];
#pragma GCC unroll 16
    for (int i = 0; i < n / 2; ++i) {
      interleave<C>(v[i], v[i + n / 2], w[2 * i], w[2 * i + 1],
                    std::make_index_sequence<size_t(n)>{});
    }
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) v[i] = w[i];
  }
}

}  // namespace flambeau::FLAM_TARGET
