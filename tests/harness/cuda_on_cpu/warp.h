// Shuffles, votes, matches and reductions of a warp, all made of one exchange of 8-byte values.
// Stricter than the hardware: a lane of the mask that has left the kernel or does not exist is an
// error, as the CUDA guide has it.
#pragma once
#include <bit>
#include <cstring>
#include <type_traits>

#include "grid.h"

namespace cuda_on_cpu {

template <class T> uint64_t pack(T v) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

template <class T> T unpack(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

// The value of lane `from` of this lane's segment of `width`; lanes outside the segment give one's
// own.
template <class T, class From> T shuffle(const char* name, unsigned mask, T v, int width,
                                         From from) {
  const int lane = int(current->lane), start = lane & ~(width - 1);
  const int source = from(lane, start, start + width - 1);
  exchange(name, mask, pack(v));
  if (!(mask >> source & 1)) stop("a shuffle reads a lane that is not in its mask");
  return unpack<T>(current->gathered[source]);
}

template <class F> void for_lanes(unsigned mask, F f) {
  for (; mask; mask &= mask - 1) f(std::countr_zero(mask));
}

template <class T, class F> T reduce(const char* name, unsigned mask, T v, F combine) {
  exchange(name, mask, pack(v));
  const int first = std::countr_zero(mask);
  T total = unpack<T>(current->gathered[first]);
  for_lanes(mask & (mask - 1),
            [&](int lane) { total = combine(total, unpack<T>(current->gathered[lane])); });
  return total;
}

inline unsigned ballot(const char* name, unsigned mask, bool predicate) {
  exchange(name, mask, predicate);
  unsigned votes = 0;
  for_lanes(mask, [&](int lane) { votes |= unsigned(current->gathered[lane] != 0) << lane; });
  return votes;
}

}  // namespace cuda_on_cpu

template <class T> T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
  return ::cuda_on_cpu::shuffle("__shfl_sync", mask, v, width,
                                [&](int, int start, int) { return start + (from & (width - 1)); });
}
template <class T> T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  return ::cuda_on_cpu::shuffle("__shfl_up_sync", mask, v, width, [&](int lane, int start, int) {
    return lane - int(delta) < start ? lane : lane - int(delta);
  });
}
template <class T> T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  return ::cuda_on_cpu::shuffle("__shfl_down_sync", mask, v, width, [&](int lane, int, int end) {
    return lane + int(delta) > end ? lane : lane + int(delta);
  });
}
template <class T> T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {
  return ::cuda_on_cpu::shuffle("__shfl_xor_sync", mask, v, width, [&](int lane, int, int end) {
    return (lane ^ bits) > end ? lane : lane ^ bits;
  });
}

inline unsigned __ballot_sync(unsigned mask, int p) {
  return ::cuda_on_cpu::ballot("__ballot_sync", mask, p != 0);
}
inline int __any_sync(unsigned mask, int p) {
  return ::cuda_on_cpu::ballot("__any_sync", mask, p != 0) != 0;
}
inline int __all_sync(unsigned mask, int p) {
  return ::cuda_on_cpu::ballot("__all_sync", mask, p != 0) == mask;
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  ::cuda_on_cpu::exchange("__syncwarp", mask, 0);
}

template <class T> unsigned __match_any_sync(unsigned mask, T v) {
  ::cuda_on_cpu::exchange("__match_any_sync", mask, ::cuda_on_cpu::pack(v));
  unsigned same = 0;
  ::cuda_on_cpu::for_lanes(mask, [&](int lane) {
    same |= unsigned(::cuda_on_cpu::current->gathered[lane] == ::cuda_on_cpu::pack(v)) << lane;
  });
  return same;
}

#define CUDA_ON_CPU_REDUCE(op, T, expression)                          \
  inline T __reduce_##op##_sync(unsigned mask, T v) {                  \
    return ::cuda_on_cpu::reduce("__reduce_" #op "_sync", mask, v,     \
                                 [](T a, T b) { return expression; }); \
  }
CUDA_ON_CPU_REDUCE(add, unsigned, a + b)
CUDA_ON_CPU_REDUCE(min, unsigned, a < b ? a : b)
CUDA_ON_CPU_REDUCE(max, unsigned, a > b ? a : b)
CUDA_ON_CPU_REDUCE(add, int, int(unsigned(a) + unsigned(b)))
CUDA_ON_CPU_REDUCE(min, int, a < b ? a : b)
CUDA_ON_CPU_REDUCE(max, int, a > b ? a : b)
CUDA_ON_CPU_REDUCE(and, unsigned, a& b)
CUDA_ON_CPU_REDUCE(or, unsigned, a | b)
CUDA_ON_CPU_REDUCE(xor, unsigned, a ^ b)
#undef CUDA_ON_CPU_REDUCE
