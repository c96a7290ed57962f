// Sorting in CUDA: short lines a block each in shared memory, the first few of long ones by
// selection, and long lines whole by CUB's radix sort.
#pragma once
#include "kernels/sort/sort_radix.h"
#include "kernels/sort/sort_select.h"
#include "kernels/sort/sort_tile.h"

namespace flambeau::FLAM_TARGET {

// Where the range starts; NaN are last in order, so that a binary search counts them.
template <class T> __device__ inline int64_t range_start(const SortArgs& a,
                                                         const SortItem<SortKey<T>>* sorted) {
  if (a.middle == Middle::none) return a.first;
  int64_t low = 0, high = a.n;
  while (!std::is_integral_v<T> && low < high) {
    const int64_t middle = (low + high) / 2;
    if (sorted[middle].key == SortKey<T>(~SortKey<T>(0))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const int64_t numbers = std::is_integral_v<T> ? a.n : low;
  if (a.middle == Middle::nan_wins && numbers < a.n) return numbers;
  return numbers ? (numbers - 1) / 2 : 0;
}

template <class T> __global__ void sort_tile_kernel(SortArgs a, int size) {
  using Item = SortItem<SortKey<T>>;
  __shared__ Item tile[kSortTile];
  for (int64_t line = blockIdx.x; line < a.lines; line += gridDim.x) {
    const T* in = reinterpret_cast<const T*>(a.in) + line * a.n;
    for (int i = int(threadIdx.x); i < size; i += int(blockDim.x)) {
      tile[i] = no_item<SortKey<T>>();
      if (i >= a.n) continue;
      const T value = load_global(in + i);
      tile[i] = {sort_key(&value, a.descending), uint32_t(i)};
    }
    sort_tile(tile, size);
    const int64_t first = range_start<T>(a, tile);
    for (int64_t i = threadIdx.x; i < a.count; i += blockDim.x) {
      const uint32_t at = tile[first + i].at;
      if (a.values)
        store_global(reinterpret_cast<T*>(a.values) + line * a.count + i, load_global(in + at));
      if (a.at) store_global(a.at + line * a.count + i, int64_t(at));
    }
    __syncthreads();
  }
}

template <class T> void sort_entry(void* stream, const void* p) {
  const SortArgs& a = *static_cast<const SortArgs*>(p);
  if (a.n > kSortTile) {
    if (!selects(a)) return radix_sort_lines<T>(stream, a);
    if (!a.wanted) sort_select<T>(stream, a);
    return;
  }
  if (a.wanted) return;
  int size = 2;
  while (size < a.n) size *= 2;
  const int threads = size / 2 < kSortThreads ? size / 2 : kSortThreads;
  FLAM_LAUNCH((sort_tile_kernel<T>), sort_grid(a.lines), dim3(unsigned(threads)), 0, stream, a,
              size);
}

}  // namespace flambeau::FLAM_TARGET
