// Sums of squares of a list's chunks and the roots of their sums; see clip.h. On GPUs a block
// takes a chunk, then a tensor.
#include "kernels/optimizer/clip.h"

#include "kernels/optimizer/optimizer_loop.h"

namespace flambeau::FLAM_TARGET {

FLAM_FN int32_t end_of_entry(const ListArgs& a, int tensor) {
  return tensor + 1 < a.tensors ? a.entry[tensor + 1].first_chunk : a.chunks;
}

FLAM_FN int64_t chunk_size(const ListEntry& e, int64_t first) {
  return e.numel - first < kListChunk ? e.numel - first : kListChunk;
}

#if defined(FLAM_DEVICE_SOURCE)

// Of all threads of the block, in the first.
__device__ inline double sum_of_block(double mine) {
  __shared__ double sums[kListThreads];
  sums[threadIdx.x] = mine;
  for (int half = kListThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[0];
}

template <class T, int kCount>
__device__ __forceinline__ double squares_at(const ListEntry& e, int64_t i) {
  Compute<T> x[kCount] = {};
  load_list<T>(e.grad, i, x);
  double sum = 0;
#pragma unroll
  for (int k = 0; k < kCount; ++k) sum += double(x[k]) * double(x[k]);
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kListThreads) square_list_kernel(const NormListArgs a) {
  const ListEntry e = a.list.entry[entry_of_chunk(a.list, int32_t(blockIdx.x))];
  const int64_t first = (int64_t(blockIdx.x) - e.first_chunk) * kListChunk;
  constexpr int kEach = 16 / int(sizeof(T));
  const int n = int(chunk_size(e, first)), whole = uintptr_t(e.grad) % 16 ? 0 : n / kEach * kEach;
  double sum = 0;
#pragma unroll 1
  for (int i = int(threadIdx.x) * kEach; i < whole; i += kListThreads * kEach)
    sum += squares_at<T, kEach>(e, first + i);
#pragma unroll 1
  for (int i = whole + int(threadIdx.x); i < n; i += kListThreads)
    sum += squares_at<T, 1>(e, first + i);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) a.partial[blockIdx.x] = sum;
}

template <class T>
__global__ void __launch_bounds__(kListThreads) root_list_kernel(const NormListArgs a) {
  const int tensor = int(blockIdx.x);
  const int32_t begin = a.list.entry[tensor].first_chunk, end = end_of_entry(a.list, tensor);
  double sum = 0;
#pragma unroll 1
  for (int32_t c = begin + int32_t(threadIdx.x); c < end; c += kListThreads) sum += a.partial[c];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0)
    reinterpret_cast<T*>(a.norms)[tensor] = narrow<T>(static_cast<Compute<T>>(::sqrt(sum)));
}

template <class T> void square_list_entry(void* stream, const void* p) {
  const NormListArgs& a = *static_cast<const NormListArgs*>(p);
  FLAM_LAUNCH((square_list_kernel<T>), dim3(unsigned(a.list.chunks)), dim3(kListThreads), 0, stream,
              a);
}

template <class T> void root_list_entry(void* stream, const void* p) {
  const NormListArgs& a = *static_cast<const NormListArgs*>(p);
  FLAM_LAUNCH((root_list_kernel<T>), dim3(unsigned(a.list.tensors)), dim3(kListThreads), 0, stream,
              a);
}

#else

// By lanes, which are added up in their order: a loop that compilers make a vector's.
template <class T> double squares_of(const T* x, int64_t n) {
  constexpr int kLanes = 16;
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      const auto v = double(load(x + i + k));
      sums[k] += v * v;
    }
  }
  for (int k = 0; i + k < n; ++k) {
    const auto v = double(load(x + i + k));
    sums[k] += v * v;
  }
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

template <class T> void square_list_entry(void*, const void* p) {
  const NormListArgs& a = *static_cast<const NormListArgs*>(p);
  parallel_for(a.list.chunks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const ListEntry& e = a.list.entry[entry_of_chunk(a.list, int32_t(c))];
      const int64_t first = (c - e.first_chunk) * kListChunk;
      a.partial[c] = squares_of(reinterpret_cast<const T*>(e.grad) + first, chunk_size(e, first));
    }
  });
}

template <class T> void root_list_entry(void*, const void* p) {
  const NormListArgs& a = *static_cast<const NormListArgs*>(p);
  for (int t = 0; t < a.list.tensors; ++t) {
    double sum = 0;
    for (int32_t c = a.list.entry[t].first_chunk; c < end_of_entry(a.list, t); ++c)
      sum += a.partial[c];
    reinterpret_cast<T*>(a.norms)[t] = narrow<T>(static_cast<Compute<T>>(::sqrt(sum)));
  }
}

#endif

template <class... T> bool register_norms(TypeList<T...>) {
  (kSquareList.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &square_list_entry<T>), ...);
  (kRootList.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &root_list_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_list_norms = register_norms(FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
