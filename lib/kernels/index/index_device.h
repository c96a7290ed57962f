// Indexed reads and writes in CUDA: where a run along the last dimension is moved as it lies, by
// words of up to 16 bytes. What is divided by is known before the launch, and numbers are of 32
// bits where the walk has less than 2^31 steps. Writes that meet in the host's order come sorted by
// their place: a run of equals is one thread's.
#pragma once
#include <bit>

#include "kernels/cuda_launch.h"
#include "kernels/far_divide.h"
#include "kernels/fast_divide.h"
#include "kernels/index/index_walk.h"
#include "kernels/tile/global_access.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kIndexThreads = 256;

inline dim3 index_grid(int64_t blocks) { return dim3(unsigned(blocks < 65535 ? blocks : 65535)); }

// ---- words --------------------------------------------------------------------------------------

// The widest word that a walk's runs consist of, where moving them is all there is to do: what
// every address and step of both sides is a multiple of.
inline int64_t word_bytes(const IndexArgs& a, int64_t element) {
  const int last = a.ndim - 1;
  if (last < 0 || a.dst_stride[last] != element || a.src_stride[last] != element) return element;
  uint64_t all = uint64_t(reinterpret_cast<uintptr_t>(a.dst)) |
                 uint64_t(reinterpret_cast<uintptr_t>(a.src)) | uint64_t(a.size[last] * element);
  for (int d = 0; d < last; ++d) all |= uint64_t(a.dst_stride[d]) | uint64_t(a.src_stride[d]);
  for (int l = 0; l < a.lists; ++l) {
    if (a.list[l].stride[last]) return element;
    all |= uint64_t(a.list[l].step);
  }
  int64_t bytes = element;
  while (bytes < 16 && all % uint64_t(2 * bytes) == 0) bytes *= 2;
  return bytes;
}

inline IndexArgs by_words(IndexArgs a, int64_t element, int64_t bytes) {
  if (bytes == element) return a;
  const int last = a.ndim - 1;
  a.size[last] = a.size[last] * element / bytes;
  a.dst_stride[last] = a.src_stride[last] = bytes;
  a.numel = a.numel * element / bytes;
  return a;
}

// ---- walks --------------------------------------------------------------------------------------

// By FastDivide or FarDivide, and what counts steps then.
template <class Divide> struct IndexDivides {
  using Count = std::conditional_t<std::is_same_v<Divide, FastDivide>, uint32_t, int64_t>;
  Divide by[kIndexDims];

  explicit IndexDivides(const IndexArgs& a) {
    for (int d = 1; d < a.ndim; ++d) by[d] = Divide(a.size[d]);
  }

  // Bytes by which element i of dimensions first to last - 1 moves what has such strides.
  __device__ int64_t walked(int first, int last, Count i, const int64_t* stride) const {
    int64_t at = 0;
    for (int d = last - 1; d > first; --d) {
      const Count outer = quotient(i, by[d]);
      at += int64_t(i - outer * Count(by[d].divisor)) * stride[d];
      i = outer;
    }
    return first < last ? at + int64_t(i) * stride[first] : 0;
  }
};

__device__ inline int64_t listed(const IndexArgs& a, const IndexList& list, int64_t place) {
  const int64_t index = load_global(reinterpret_cast<const int64_t*>(list.data + place));
  const int64_t at = index < 0 && list.from_end ? index + list.size : index;
  return in_range(a.op, a.report, at, index, list.dim, list.size) * list.step;
}

// What is looked up by a dimension's number stays where arguments are, without a copy per thread.
template <class F, class T, class Divide>
__global__ void index_kernel(const __grid_constant__ IndexArgs a,
                             const __grid_constant__ IndexDivides<Divide> divides) {
  using Count = typename IndexDivides<Divide>::Count;
  const Count step = Count(gridDim.x) * blockDim.x, numel = Count(a.numel);
  for (Count i = Count(blockIdx.x) * blockDim.x + threadIdx.x; i < numel; i += step) {
    int64_t dst = divides.walked(0, a.ndim, i, a.dst_stride),
            src = divides.walked(0, a.ndim, i, a.src_stride);
    for (int l = 0; l < a.lists; ++l) {
      (kReads<F> ? src : dst) +=
          listed(a, a.list[l], divides.walked(0, a.ndim, i, a.list[l].stride));
    }
    const T value = load_global(reinterpret_cast<const T*>(a.src + src));
    T* const place = reinterpret_cast<T*>(a.dst + dst);
    if constexpr (std::is_base_of_v<SetPlace, F>) {
      store_global(place, value);
    } else {
      update_place(F{}, place, value);
    }
  }
}

template <class F, class T, class Divide> void index_all(void* stream, const IndexArgs& a) {
  FLAM_LAUNCH((index_kernel<F, T, Divide>),
              index_grid((a.numel + kIndexThreads - 1) / kIndexThreads), dim3(kIndexThreads), 0,
              stream, a, IndexDivides<Divide>(a));
}

// ---- in the host's order ------------------------------------------------------------------------

using OrderDivides = IndexDivides<FarDivide>;

// The places, in elements, that the writes along the dimensions after the free ones go to.
template <class P>
__global__ void index_places_kernel(const __grid_constant__ IndexArgs a,
                                    const __grid_constant__ OrderDivides divides, int64_t writes,
                                    int element_bits) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < writes; i += step) {
    int64_t at = divides.walked(a.free_dims, a.ndim, i, a.dst_stride);
    for (int l = 0; l < a.lists; ++l) {
      const IndexList& list = a.list[l];
      at += listed(a, list, divides.walked(a.free_dims, a.ndim, i, list.stride));
    }
    store_global(static_cast<P*>(a.ordered) + i, P(at >> element_bits));
  }
}

// A block's threads along x are columns beside each other, those along y writes in their order: the
// first to a place makes all of them.
template <class F, class T, class P>
__global__ void index_in_order_kernel(const __grid_constant__ IndexArgs a,
                                      const __grid_constant__ OrderDivides divides, int64_t columns,
                                      int64_t writes) {
  const P* places = static_cast<const P*>(a.ordered);
  const int64_t down = int64_t(gridDim.y) * blockDim.y, across = int64_t(gridDim.x) * blockDim.x;
  for (int64_t k = int64_t(blockIdx.y) * blockDim.y + threadIdx.y; k < writes; k += down) {
    const P place = places[k];
    if (k && places[k - 1] == place) continue;
    for (int64_t c = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; c < columns; c += across) {
      const char* const src = a.src + divides.walked(0, a.free_dims, c, a.src_stride);
      T* const dst =
          reinterpret_cast<T*>(a.dst + divides.walked(0, a.free_dims, c, a.dst_stride)) + place;
      auto sum = load(dst);  // rounded once, as on the host
      for (int64_t i = k; i < writes && places[i] == place; ++i) {
        const int64_t from = divides.walked(a.free_dims, a.ndim, a.order[i], a.src_stride);
        sum = F{}(sum, load(reinterpret_cast<const T*>(src + from)));
      }
      *dst = narrow<T>(sum);
    }
  }
}

template <class F, class T, class P> void index_in_order(void* stream, const IndexArgs& a) {
  int64_t columns = 1;
  for (int d = 0; d < a.free_dims; ++d) columns *= a.size[d];
  const int64_t writes = a.numel / columns;
  if (!a.order) {
    FLAM_LAUNCH((index_places_kernel<P>), index_grid((writes + kIndexThreads - 1) / kIndexThreads),
                dim3(kIndexThreads), 0, stream, a, OrderDivides(a), writes,
                std::countr_zero(sizeof(T)));
    return;
  }
  unsigned across = 1;
  while (across < kIndexThreads && across < columns) across *= 2;
  const dim3 block(across, kIndexThreads / across);
  dim3 grid = index_grid((columns + across - 1) / across);
  grid.y = index_grid((writes + block.y - 1) / block.y).x;
  FLAM_LAUNCH((index_in_order_kernel<F, T, P>), grid, block, 0, stream, a, OrderDivides(a), columns,
              writes);
}

// ---- the launch ---------------------------------------------------------------------------------

template <class F, class T> void index_entry(void* stream, const void* p) {
  const IndexArgs& a = *static_cast<const IndexArgs*>(p);
  if constexpr (!kReads<F>) {
    if (a.ordered) {
      return a.narrow_places ? index_in_order<F, T, int32_t>(stream, a)
                             : index_in_order<F, T, int64_t>(stream, a);
    }
  }
  constexpr int64_t element = sizeof(T);
  const int64_t bytes = std::is_base_of_v<SetPlace, F> ? word_bytes(a, element) : element;
  const IndexArgs words = by_words(a, element, bytes);
  if (words.numel > 0x7fffffff) return index_all<F, T, FarDivide>(stream, a);
  if constexpr (std::is_base_of_v<SetPlace, F>) {
    if (bytes == 16) return index_all<F, Word<16>, FastDivide>(stream, words);
    if (bytes == 8) return index_all<F, Word<8>, FastDivide>(stream, words);
    if (bytes == 4) return index_all<F, Word<4>, FastDivide>(stream, words);
    if (bytes == 2) return index_all<F, Word<2>, FastDivide>(stream, words);
  }
  index_all<F, T, FastDivide>(stream, words);
}

}  // namespace flambeau::FLAM_TARGET
