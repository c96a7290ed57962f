// How the elements of a dtype lie in memory and in a block, where they are dense and of the type
// that functors compute in, and the way from one to the other.
#pragma once
#include "kernels/copy_run.h"
#include "kernels/map/map_halves.h"

namespace flambeau::FLAM_TARGET {

// How a dtype lies in memory and in a block; those of one size that need no conversion share. Rows
// of n elements are gathered to dense ones and scattered from them.
struct Element {
  int64_t bytes, width;
  void (*gather)(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t step,
                 int64_t rows, int64_t n);
  void (*scatter)(char* to, int64_t to_row, int64_t step, const char* from, int64_t from_row,
                  int64_t rows, int64_t n);
};

// Every By-th element, which a vector's permutations pick.
template <int64_t By, class T>
FLAM_FN void gather_each(Compute<T>* __restrict to, const T* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = load(from + i * By);
}

template <class T> void gather_run(char* block, const char* from, int64_t step, int64_t n) {
  constexpr int64_t kBytes = sizeof(T);
  Compute<T>* __restrict to = reinterpret_cast<Compute<T>*>(block);
  const T* in = reinterpret_cast<const T*>(from);
  if (step == kBytes) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, Half>) {
#if defined(__AVX512F__)
      for (; i + 16 <= n; i += 16) widen_halves<16>(to + i, in + i);
#endif
      for (; i + 8 <= n; i += 8) widen_halves<8>(to + i, in + i);
    }
#endif
    for (; i < n; ++i) to[i] = load(in + i);
  } else if (step == 0) {
    const Compute<T> value = load(in);
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  } else if (step == -kBytes) {
    gather_each<-1>(to, in, n);
  } else if (step == 2 * kBytes) {
    gather_each<2>(to, in, n);
  } else if (step == 3 * kBytes) {
    gather_each<3>(to, in, n);
  } else if (step == 4 * kBytes) {
    gather_each<4>(to, in, n);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = load(reinterpret_cast<const T*>(from + i * step));
  }
}

template <class T> void scatter_run(char* to, int64_t step, const char* block, int64_t n) {
  const Compute<T>* __restrict from = reinterpret_cast<const Compute<T>*>(block);
  T* __restrict dense = reinterpret_cast<T*>(to);
  if (step == int64_t(sizeof(T))) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, Half>) {
#if defined(__AVX512F__)
      for (; i + 16 <= n; i += 16) narrow_halves<16>(dense + i, from + i);
#endif
      for (; i + 8 <= n; i += 8) narrow_halves<8>(dense + i, from + i);
    }
#endif
    for (; i < n; ++i) dense[i] = narrow<T>(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * step) = narrow<T>(from[i]);
  }
}

inline constexpr int64_t kTinyRun = 8;  // from here on a run of its own is worth its start

template <class T> void gather(char* to, int64_t to_row, const char* from, int64_t from_row,
                               int64_t step, int64_t rows, int64_t n) {
  if constexpr (std::is_same_v<Compute<T>, T>) {
    if (step == int64_t(sizeof(T)) && n >= kTinyRun)
      return copy_runs(to, to_row, from, from_row, rows, n * step);
  }
  for (int64_t r = 0; r < rows; ++r, to += to_row, from += from_row) {
    if (n >= kTinyRun) {
      gather_run<T>(to, from, step, n);
      continue;
    }
    for (int64_t i = 0; i < n; ++i)
      reinterpret_cast<Compute<T>*>(to)[i] = load(reinterpret_cast<const T*>(from + i * step));
  }
}

template <class T> void scatter(char* to, int64_t to_row, int64_t step, const char* from,
                                int64_t from_row, int64_t rows, int64_t n) {
  if constexpr (std::is_same_v<Compute<T>, T>) {
    if (step == int64_t(sizeof(T)) && n >= kTinyRun)
      return copy_runs(to, to_row, from, from_row, rows, n * step);
  }
  for (int64_t r = 0; r < rows; ++r, to += to_row, from += from_row) {
    if (n >= kTinyRun) {
      scatter_run<T>(to, step, from, n);
      continue;
    }
    for (int64_t i = 0; i < n; ++i)
      *reinterpret_cast<T*>(to + i * step) =
          narrow<T>(reinterpret_cast<const Compute<T>*>(from)[i]);
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
