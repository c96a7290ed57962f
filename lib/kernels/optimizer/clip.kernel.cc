// Sums of squares of a list's chunks, the roots of their sums, and the norm of all; see clip.h. On
// GPUs a block takes a chunk; the last of a tensor's has its norm, and the last of these that of
// all. Where a launch has no tickets, the norms have two launches of their own.
#include "kernels/optimizer/clip.h"

#include "kernels/optimizer/optimizer_loop.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/last_block.h"
#endif

namespace flambeau::FLAM_TARGET {

FLAM_FN int32_t end_of_entry(const NormListArgs& a, int tensor) {
  return tensor + 1 < a.tensors ? a.entry[tensor + 1].first_chunk : a.chunks;
}

FLAM_FN int64_t chunk_size(const NormEntry& e, int64_t first) {
  return e.numel - first < kListChunk ? e.numel - first : kListChunk;
}

// A norm by its square, rounded.
template <class T> FLAM_FN T rounded_root(double squares) {
  return narrow<T>(static_cast<Compute<T>>(::sqrt(squares)));
}

template <class T> FLAM_FN void put_total(const NormListArgs& a, double squares) {
  using V = Compute<T>;
  const T total = rounded_root<T>(squares);
  *reinterpret_cast<T*>(a.total) = total;
  if (!a.factor) return;
  const T above = narrow<T>(V(load(&total) + V(1e-6)));
  const T room = narrow<T>(V(V(a.most) / load(&above)));
  *a.factor = float(load(&room) > V(1) ? V(1) : load(&room));  // NaN stays
}

#if defined(FLAM_DEVICE_SOURCE)

static_assert(kNormTensors < kTickets);

// Of all threads of the block, in the first.
__device__ inline double sum_of_block(double mine) {
  __shared__ double sums[kListThreads];
  __syncthreads();  // the previous round may still be reading
  sums[threadIdx.x] = mine;
  for (int half = kListThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[0];
}

template <class T, int kCount>
__device__ __forceinline__ double squares_at(const NormEntry& e, int64_t i) {
  Compute<T> x[kCount] = {};
  load_list<T>(e.data, i, x);
  double sum = 0;
#pragma unroll
  for (int k = 0; k < kCount; ++k) sum += double(x[k]) * double(x[k]);
  return sum;
}

// Of the block's threads.
template <class T>
__device__ inline double squares_of_chunk(const NormEntry& e, int64_t first) {
  constexpr int kEach = 16 / int(sizeof(T));
  const int n = int(chunk_size(e, first)), whole = uintptr_t(e.data) % 16 ? 0 : n / kEach * kEach;
  double sum = 0;
#pragma unroll 1
  for (int i = int(threadIdx.x) * kEach; i < whole; i += kListThreads * kEach)
    sum += squares_at<T, kEach>(e, first + i);
#pragma unroll 1
  for (int i = whole + int(threadIdx.x); i < n; i += kListThreads)
    sum += squares_at<T, 1>(e, first + i);
  return sum_of_block(sum);
}

template <class T> __device__ inline void norm_of_tensor(const NormListArgs& a, int tensor) {
  const int32_t begin = a.entry[tensor].first_chunk, end = end_of_entry(a, tensor);
  double sum = 0;
#pragma unroll 4
  for (int32_t c = begin + int32_t(threadIdx.x); c < end; c += kListThreads) sum += a.partial[c];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) reinterpret_cast<T*>(a.norms)[a.first + tensor] = rounded_root<T>(sum);
}

template <class T> __device__ inline void norm_of_all(const NormListArgs& a) {
  double sum = 0;
  for (int t = int(threadIdx.x); t < a.first + a.tensors; t += kListThreads) {
    const auto norm = double(load(reinterpret_cast<const T*>(a.norms) + t));
    sum += norm * norm;
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) put_total<T>(a, sum);
}

template <class T>
__global__ void __launch_bounds__(kListThreads)
    norm_list_kernel(const __grid_constant__ NormListArgs a) {
  const auto chunk = int32_t(blockIdx.x);
  const int tensor = entry_of_chunk(a, chunk);
  const int32_t first = a.entry[tensor].first_chunk;
  const double sum = squares_of_chunk<T>(a.entry[tensor], int64_t(chunk - first) * kListChunk);
  if (threadIdx.x == 0) a.partial[chunk] = sum;
  if (a.tickets < 0) return;
  if (!is_last_block(a.tickets, tensor, unsigned(end_of_entry(a, tensor) - first))) return;
  norm_of_tensor<T>(a, tensor);
  if (!a.total || !is_last_block(a.tickets, kTickets - 1, unsigned(a.tensors))) return;
  norm_of_all<T>(a);
}

template <class T> __global__ void __launch_bounds__(kListThreads)
    norm_tensors_kernel(const __grid_constant__ NormListArgs a) {
  norm_of_tensor<T>(a, int(blockIdx.x));
}

template <class T> __global__ void __launch_bounds__(kListThreads)
    norm_total_kernel(const __grid_constant__ NormListArgs a) {
  norm_of_all<T>(a);
}

template <class T> void norm_list_entry(void* stream, const void* p) {
  const NormListArgs& a = *static_cast<const NormListArgs*>(p);
  const dim3 threads(kListThreads);
  FLAM_LAUNCH((norm_list_kernel<T>), dim3(unsigned(a.chunks)), threads, 0, stream, a);
  if (a.tickets >= 0) return;
  FLAM_LAUNCH((norm_tensors_kernel<T>), dim3(unsigned(a.tensors)), threads, 0, stream, a);
  if (a.total) FLAM_LAUNCH((norm_total_kernel<T>), dim3(1), threads, 0, stream, a);
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

template <class T> void norm_list_entry(void*, const void* p) {
  const NormListArgs& a = *static_cast<const NormListArgs*>(p);
  parallel_for(a.chunks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const NormEntry& e = a.entry[entry_of_chunk(a, int32_t(c))];
      const int64_t first = (c - e.first_chunk) * kListChunk;
      a.partial[c] = squares_of(reinterpret_cast<const T*>(e.data) + first, chunk_size(e, first));
    }
  });
  T* const norms = reinterpret_cast<T*>(a.norms);
  for (int t = 0; t < a.tensors; ++t) {
    double sum = 0;
    for (int32_t c = a.entry[t].first_chunk; c < end_of_entry(a, t); ++c) sum += a.partial[c];
    norms[a.first + t] = rounded_root<T>(sum);
  }
  if (!a.total) return;
  double sum = 0;
  for (int t = 0; t < a.first + a.tensors; ++t) {
    const auto norm = double(load(norms + t));
    sum += norm * norm;
  }
  put_total<T>(a, sum);
}

#endif

template <class... T> bool register_norms(TypeList<T...>) {
  (kNormList.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &norm_list_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_list_norms = register_norms(FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
