// How the elements of a dtype lie in memory and in a block, where they are dense and of the type
// that functors compute in, and the way from one to the other.
#pragma once
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

// How a dtype lies in memory and in a block; those of one size that need no conversion share.
struct Element {
  int64_t bytes, width;
  void (*gather)(char* block, const char* from, int64_t stride, int64_t n);
  void (*scatter)(char* to, const char* block, int64_t stride, int64_t n);
};

template <class T> void gather(char* block, const char* from, int64_t stride, int64_t n) {
  Compute<T>* __restrict to = reinterpret_cast<Compute<T>*>(block);
  const T* dense = reinterpret_cast<const T*>(from);
  if (stride == int64_t(sizeof(T))) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, Half>) {
      for (; i + 8 <= n; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(dense + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
      }
    }
#endif
    for (; i < n; ++i) to[i] = load(dense + i);
  } else if (stride == 0) {
    const Compute<T> value = load(dense);
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  } else if (stride == -int64_t(sizeof(T))) {
    for (int64_t i = 0; i < n; ++i) to[i] = load(dense - i);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = load(reinterpret_cast<const T*>(from + i * stride));
  }
}

template <class T> void scatter(char* to, const char* block, int64_t stride, int64_t n) {
  const Compute<T>* __restrict from = reinterpret_cast<const Compute<T>*>(block);
  T* __restrict dense = reinterpret_cast<T*>(to);
  if (stride == int64_t(sizeof(T))) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, Half>) {
      for (; i + 8 <= n; i += 8) {
        const __m128i halves =
            _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dense + i), halves);
      }
    }
#endif
    for (; i < n; ++i) dense[i] = narrow<T>(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * stride) = narrow<T>(from[i]);
  }
}

template <class T>
inline constexpr Element kElement{sizeof(T), sizeof(Compute<T>), &gather<T>, &scatter<T>};

// Halves are words, too, where they are only moved.
inline const Element& element_of(Dtype type, bool moved) {
  if (type == Dtype::f16 && !moved) return kElement<Half>;
  if (type == Dtype::bf16 && !moved) return kElement<BFloat16>;
  switch (size_of(type)) {
    case 1:
      return kElement<uint8_t>;
    case 2:
      return kElement<uint16_t>;
    case 4:
      return kElement<uint32_t>;
    default:
      return kElement<uint64_t>;
  }
}

}  // namespace flambeau::FLAM_TARGET
