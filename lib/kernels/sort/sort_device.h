// Sorting in CUDA: blocks sort tiles in shared memory by a bitonic network, then runs are merged in
// pairs, each element finding its place by binary search. Positions break ties, so that a network,
// which is not stable, gives the order of a stable sort.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/sort/sort.h"
#include "kernels/sort/sort_key.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kSortThreads = 256;

template <class K> __device__ inline bool precedes(const SortItem<K>& a, const SortItem<K>& b) {
  return a.key < b.key || (a.key == b.key && a.at < b.at);
}

// Writes position `place` of the sorted line to entry i of its results.
template <class T> __device__ inline void write_sorted(const SortArgs& a, int64_t line, int64_t i,
                                                       uint32_t from) {
  const T* in = reinterpret_cast<const T*>(a.in) + line * a.n;
  if (a.values) reinterpret_cast<T*>(a.values)[line * a.count + i] = in[from];
  if (a.at) a.at[line * a.count + i] = int64_t(from);
}

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
  const int64_t tiles = (a.n + size - 1) / size;
  for (int64_t b = blockIdx.x; b < a.lines * tiles; b += gridDim.x) {
    const int64_t line = b / tiles, start = b % tiles * size;
    const T* in = reinterpret_cast<const T*>(a.in) + line * a.n;
    for (int i = int(threadIdx.x); i < size; i += int(blockDim.x)) {
      tile[i].key =
          start + i < a.n ? sort_key(in + start + i, a.descending) : SortKey<T>(~SortKey<T>(0));
      tile[i].at = start + i < a.n ? uint32_t(start + i) : 0xffffffffu;
    }
    __syncthreads();
    for (int run = 2; run <= size; run *= 2) {
      for (int step = run / 2; step > 0; step /= 2) {
        for (int i = int(threadIdx.x); i < size; i += int(blockDim.x)) {
          const int other = i ^ step;
          if (other <= i) continue;
          const Item x = tile[i], y = tile[other];
          if (precedes(y, x) == ((i & run) == 0)) {
            tile[i] = y;
            tile[other] = x;
          }
        }
        __syncthreads();
      }
    }
    if (tiles == 1) {
      const int64_t first = range_start<T>(a, tile);
      for (int64_t i = threadIdx.x; i < a.count; i += blockDim.x) {
        write_sorted<T>(a, line, i, tile[first + i].at);
      }
    } else {
      Item* out = static_cast<Item*>(a.scratch[0]) + line * a.n + start;
      for (int i = int(threadIdx.x); i < size && start + i < a.n; i += int(blockDim.x)) {
        out[i] = tile[i];
      }
    }
    __syncthreads();
  }
}

template <class K>
__global__ void merge_runs_kernel(const SortItem<K>* from, SortItem<K>* to, int64_t lines,
                                  int64_t n, int64_t run) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < lines * n; i += step) {
    const int64_t line = i / n, place = i % n, own = place / run;
    const SortItem<K>* x = from + line * n;
    const SortItem<K> item = x[place];
    const int64_t start = (own ^ 1) * run, end = start + run < n ? start + run : n;
    int64_t low = start, high = end;  // the other run's items that precede this one
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (precedes(x[middle], item)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const int64_t before = start < n ? low - start : 0;
    to[line * n + (own & ~int64_t(1)) * run + (place - own * run) + before] = item;
  }
}

template <class T> __global__ void write_range_kernel(SortArgs a, const void* sorted) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  const auto* x = static_cast<const SortItem<SortKey<T>>*>(sorted);
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.lines * a.count;
       i += step) {
    const int64_t line = i / a.count;
    const auto* items = x + line * a.n;
    write_sorted<T>(a, line, i % a.count, items[range_start<T>(a, items) + i % a.count].at);
  }
}

inline dim3 sort_grid(int64_t blocks) { return dim3(unsigned(blocks < 65535 ? blocks : 65535)); }

template <class T> void sort_entry(void* stream, const void* p) {
  using K = SortKey<T>;
  const SortArgs& a = *static_cast<const SortArgs*>(p);
  static_assert(sizeof(SortItem<K>) <= kSortItemBytes);
  int size = 2;
  while (size < a.n && size < int(kSortTile)) size *= 2;
  const int threads = size / 2 < kSortThreads ? size / 2 : kSortThreads;
  FLAM_LAUNCH((sort_tile_kernel<T>), sort_grid(a.lines * ((a.n + size - 1) / size)),
              dim3(unsigned(threads)), 0, stream, a, size);
  if (a.n <= size) return;
  void *from = a.scratch[0], *to = a.scratch[1];
  const dim3 all = sort_grid((a.lines * a.n + kSortThreads - 1) / kSortThreads);
  for (int64_t run = size; run < a.n; run *= 2) {
    FLAM_LAUNCH((merge_runs_kernel<K>), all, dim3(kSortThreads), 0, stream,
                static_cast<const SortItem<K>*>(from), static_cast<SortItem<K>*>(to), a.lines, a.n,
                run);
    void* const sorted = to;
    to = from;
    from = sorted;
  }
  FLAM_LAUNCH((write_range_kernel<T>),
              sort_grid((a.lines * a.count + kSortThreads - 1) / kSortThreads), dim3(kSortThreads),
              0, stream, a, static_cast<const void*>(from));
}

}  // namespace flambeau::FLAM_TARGET
