// Sorting long lines in CUDA by CUB's radix sort: the lines of a group go as one, with a line's
// number above its keys, so that the speed depends neither on how many lines there are nor on how
// long they are. Where both do not fit into 64 bits places are sorted by value, then by line, which
// comes to the same as the sort is stable. Values are read from the sorted keys, but zeros and NaN
// from where they stood.
#pragma once
#include <algorithm>
#include <bit>

#include "kernels/cub/radix_sort.h"
#include "kernels/cuda_launch.h"
#include "kernels/fast_divide.h"
#include "kernels/sort/sort.h"
#include "kernels/sort/sort_key.h"
#include "kernels/tile/global_access.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kSortThreads = 256;

inline dim3 sort_grid(int64_t blocks) { return dim3(unsigned(blocks < 65535 ? blocks : 65535)); }
inline dim3 sort_grid_of(int64_t elements) {
  return sort_grid((elements + kSortThreads - 1) / kSortThreads);
}

// How lines are grouped and where their keys' bits are.
struct RadixPlan {
  int64_t group;  // lines at once
  int value_bits, line_bits;
  bool apart;  // lines are a sort of their own

  template <class T> static RadixPlan of(const SortArgs& a) {
    constexpr int64_t kMost = 0x7fffffff;  // elements of several lines, so that divisions are fast
    RadixPlan p{std::clamp<int64_t>(kMost / a.n, 1, a.lines), kPackedBits<T>, 0, false};
    if (p.value_bits <= 16) p.group = std::min<int64_t>(p.group, 1 << 16);
    p.line_bits = std::bit_width(uint64_t(p.group - 1));
    p.apart = p.value_bits == 64 && p.line_bits > 0;
    return p;
  }
  int bits() const { return value_bits + line_bits; }
  bool wide() const { return value_bits == 64 || bits() > 32; }
};

template <class K> struct RadixMemory {
  Buffers<K> keys;
  Buffers<uint32_t> places;
  char* temporary;
  size_t bytes;  // of all

  RadixMemory(char* scratch, int64_t n, size_t temporary_bytes) {
    bytes = 0;
    const auto part = [&](size_t size) {
      char* const here = scratch ? scratch + bytes : nullptr;
      bytes += (size + 255) / 256 * 256;
      return here;
    };
    keys.now = reinterpret_cast<K*>(part(size_t(n) * sizeof(K)));
    keys.spare = reinterpret_cast<K*>(part(size_t(n) * sizeof(K)));
    places.now = reinterpret_cast<uint32_t*>(part(size_t(n) * 4));
    places.spare = reinterpret_cast<uint32_t*>(part(size_t(n) * 4));
    temporary = part(temporary_bytes);
  }
};

template <class T, class K>
__global__ void radix_keys_kernel(SortArgs a, RadixPlan plan, FastDivide length, int64_t n, K* keys,
                                  uint32_t* places) {
  const T* in = reinterpret_cast<const T*>(a.in);
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const T value = load_global(in + i);
    K key = K(packed_key(&value, a.descending));
    if (plan.line_bits && !plan.apart) key |= K(quotient(uint32_t(i), length)) << plan.value_bits;
    store_global(keys + i, key);
    store_global(places + i, uint32_t(i));
  }
}

// The lines of places that are sorted by value.
[[maybe_unused]] static __global__ void radix_lines_kernel(FastDivide length, int64_t n,
                                                           const uint32_t* places,
                                                           uint32_t* lines) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    store_global(lines + i, quotient(load_global(places + i), length));
}

// A group's lines in order; `keys` is null where only places are sorted.
template <class T, class K> struct RadixSorted {
  const K* keys;
  const uint32_t* places;

  __device__ SortKey<T> key(const SortArgs& a, int64_t i) const {
    if (keys) return SortKey<T>(keys[i]) & kPackedMask<T>;
    return packed_key(reinterpret_cast<const T*>(a.in) + places[i], a.descending);
  }
  // Where the range of a line begins; NaN are last in order, so that a binary search counts them.
  __device__ int64_t first(const SortArgs& a, int64_t start) const {
    if (a.middle == Middle::none) return a.first;
    int64_t low = 0, high = a.n;
    while (!std::is_integral_v<T> && low < high) {
      const int64_t middle = (low + high) / 2;
      if (key(a, start + middle) == kPackedMask<T>) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    const int64_t numbers = std::is_integral_v<T> ? a.n : low;
    if (a.middle == Middle::nan_wins && numbers < a.n) return numbers;
    return numbers ? (numbers - 1) / 2 : 0;
  }
};

template <class T, class K>
__global__ void radix_write_kernel(SortArgs a, RadixSorted<T, K> sorted, int64_t lines) {
  const T* in = reinterpret_cast<const T*>(a.in);
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t line = blockIdx.y; line < lines; line += gridDim.y) {
    const int64_t from = line * a.n, first = from + sorted.first(a, from);
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.count; i += step) {
      const uint32_t place = load_global(sorted.places + first + i);
      if (a.values) {
        T value;
        if (!sorted.keys ||
            !unpacked(SortKey<T>(load_global(sorted.keys + first + i)) & kPackedMask<T>,
                      a.descending, &value))
          value = load_global(in + place);
        store_global(reinterpret_cast<T*>(a.values) + line * a.count + i, value);
      }
      if (a.at) store_global(a.at + line * a.count + i, int64_t(place) - from);
    }
  }
}

template <class T, class K> void radix_group(void* stream, const SortArgs& a, RadixPlan plan) {
  const int64_t n = a.lines * a.n;
  const KeyBits bits{0, plan.apart ? plan.value_bits : plan.bits()}, by_line{0, plan.line_bits};
  size_t temporary = radix_sort_bytes<K>(uint32_t(n), bits), of_lines = 0;
  if (plan.apart) of_lines = radix_sort_bytes<uint32_t>(uint32_t(n), by_line);
  RadixMemory<K> memory(a.scratch, n, std::max(temporary, of_lines));
  if (a.wanted) {
    *a.wanted = std::max(*a.wanted, memory.bytes);
    return;
  }
  const FastDivide length = plan.line_bits ? FastDivide(a.n) : FastDivide();
  FLAM_LAUNCH((radix_keys_kernel<T, K>), sort_grid_of(n), dim3(kSortThreads), 0, stream, a, plan,
              length, n, memory.keys.now, memory.places.now);
  radix_sort(stream, memory.temporary, temporary, memory.keys, memory.places, uint32_t(n), bits);
  if (plan.apart) {
    Buffers<uint32_t> lines{reinterpret_cast<uint32_t*>(memory.keys.now),
                            reinterpret_cast<uint32_t*>(memory.keys.spare)};
    FLAM_LAUNCH(radix_lines_kernel, sort_grid_of(n), dim3(kSortThreads), 0, stream, length, n,
                static_cast<const uint32_t*>(memory.places.now), lines.now);
    radix_sort(stream, memory.temporary, of_lines, lines, memory.places, uint32_t(n), by_line);
  }
  dim3 grid = sort_grid_of(a.count);
  grid.y = unsigned(std::min<int64_t>(a.lines, 65535));
  FLAM_LAUNCH((radix_write_kernel<T, K>), grid, dim3(kSortThreads), 0, stream, a,
              (RadixSorted<T, K>{plan.apart ? nullptr : memory.keys.now, memory.places.now}),
              a.lines);
}

// Asks for memory where `wanted` is set: that of the largest group.
template <class T> void radix_sort_lines(void* stream, const SortArgs& all) {
  const RadixPlan plan = RadixPlan::of<T>(all);
  for (int64_t line = 0; line < all.lines; line += plan.group) {
    SortArgs a = all;
    a.lines = std::min(plan.group, all.lines - line);
    a.in += line * a.n * int64_t(sizeof(T));
    if (a.values) a.values += line * a.count * int64_t(sizeof(T));
    if (a.at) a.at += line * a.count;
    if constexpr (kPackedBits<T> <= 16) {
      radix_group<T, uint32_t>(stream, a, plan);
    } else if constexpr (kPackedBits<T> == 64) {
      radix_group<T, uint64_t>(stream, a, plan);
    } else if (plan.wide()) {
      radix_group<T, uint64_t>(stream, a, plan);
    } else {
      radix_group<T, uint32_t>(stream, a, plan);
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
