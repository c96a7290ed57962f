// The loop over a list's chunks on GPUs: a block a chunk, a thread 16 bytes of every tensor of it.
// Rules calculate on elements in registers as if they were a tensor of the type that numbers are
// calculated in, which is what rounding them once when they are stored comes to. What a rule makes
// of its options, powers in double among it, is one thread's work for its block. The last such
// thread of a tensor counts its step, for all have read what it changes; where a launch has no
// tickets, a second one counts.
#pragma once
#include <new>

#include "kernels/cuda_launch.h"
#include "kernels/last_reader.h"
#include "kernels/map/map_chunk.h"
#include "kernels/optimizer/optimizer_rule.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kListThreads = 256;

// Elements [i, i + kCount) of a tensor that may be absent.
template <class T, int kCount>
__device__ __forceinline__ void load_list(const char* tensor, int64_t i, Compute<T> (&v)[kCount]) {
  if (!tensor) return;
  const T* p = reinterpret_cast<const T*>(tensor) + i;
  if constexpr (kCount == 1) {
    v[0] = static_cast<Compute<T>>(load_global(p));
  } else {
    const auto values = Chunk<T, kCount>::from(p).values();
#pragma unroll
    for (int k = 0; k < kCount; ++k) v[k] = values.v[k];
  }
}
template <class T, int kCount> __device__ __forceinline__ void store_list(
    char* tensor, int64_t i, const Compute<T> (&v)[kCount]) {
  if (!tensor) return;
  T* p = reinterpret_cast<T*>(tensor) + i;
  if constexpr (kCount == 1) {
    store_global(p, narrow<T>(v[0]));
  } else {
    Chunk<T, kCount>::rounded(v).to(p);
  }
}

template <class T, int kCount, bool kThird, class Rule>
__device__ __forceinline__ int update_some(const Rule& rule, const ListEntry& e, int64_t i) {
  using V = Compute<T>;
  V param[kCount], grad[kCount] = {}, first[kCount] = {}, second[kCount] = {}, third[kCount] = {};
  load_list<T>(e.param, i, param);
  load_list<T>(e.grad, i, grad);
  load_list<T>(e.first, i, first);
  load_list<T>(e.second, i, second);
  if constexpr (kThird) load_list<T>(e.third, i, third);
  const Values<V> at{param, grad, first, second, kThird ? third : nullptr};
  int bad = 0;
#pragma unroll
  for (int k = 0; k < kCount; ++k) bad |= rule.update(at, k);
  store_list<T>(e.param, i, param);
  store_list<T>(e.first, i, first);
  store_list<T>(e.second, i, second);
  if constexpr (kThird) store_list<T>(e.third, i, third);
  return bad;
}

template <class T, bool kThird, class Rule>
__device__ __forceinline__ int update_chunk(const Rule& rule, const ListEntry& e, int64_t first,
                                            int64_t n) {
  constexpr int kEach = 16 / int(sizeof(T));
  const auto together = uintptr_t(e.param) | uintptr_t(e.grad) | uintptr_t(e.first) |
                        uintptr_t(e.second) | uintptr_t(e.third);
  const auto whole = int(together % 16 ? 0 : n / kEach * kEach);
  int bad = 0;
#pragma unroll 1
  for (int i = int(threadIdx.x) * kEach; i < whole; i += kListThreads * kEach)
    bad |= update_some<T, kEach, kThird>(rule, e, first + i);
#pragma unroll 1
  for (int i = whole + int(threadIdx.x); i < n; i += kListThreads)
    bad |= update_some<T, 1, kThird>(rule, e, first + i);
  return bad;
}

// The step of a tensor, where this is the last of the threads that make a rule for its chunks.
template <class Count>
__device__ __forceinline__ void count_last(const ListArgs& a, const ListEntry& e, int tensor) {
  if (a.tickets < 0) return;
  const int64_t chunks = (e.numel + kListChunk - 1) / kListChunk;
  if (is_last_reader(a.tickets, tensor, unsigned(chunks))) Count::advance(a, e);
}

template <template <class> class Rule, class T>
__global__ void __launch_bounds__(kListThreads) list_kernel(const ListArgs a) {
  using Made = Rule<Compute<T>>;
  __shared__ __align__(16) unsigned char place[sizeof(Made)];
  if (a.found_inf && *a.found_inf != 0) return;
  const int tensor = entry_of_chunk(a, int32_t(blockIdx.x));
  const ListEntry e = a.entry[tensor];
  if (threadIdx.x == 0) new (place) Made(a, e);
  __syncthreads();
  if constexpr (kCounts<Made>)  // behind the barrier, so that no other thread waits for the ticket
    if (threadIdx.x == 0) count_last<typename Made::Count>(a, e, tensor);
  const Made rule = *reinterpret_cast<const Made*>(place);
  const int64_t first = (int64_t(blockIdx.x) - e.first_chunk) * kListChunk;
  const int64_t n = e.numel - first < kListChunk ? e.numel - first : kListChunk;
  int bad;
  if constexpr (kHasThird<Made>) {
    bad = e.third ? update_chunk<T, true>(rule, e, first, n)
                  : update_chunk<T, false>(rule, e, first, n);
  } else {
    bad = update_chunk<T, false>(rule, e, first, n);
  }
  if (bad) {  // all that write, write the same
    *static_cast<volatile float*>(a.mark_inf) = 1;
    *static_cast<volatile float*>(e.step) = 1;
  }
}

template <class Count> __global__ void count_kernel(ListArgs a) {
  if (a.found_inf && *a.found_inf != 0) return;
  if (int(threadIdx.x) < a.tensors) Count::advance(a, a.entry[threadIdx.x]);
}

static_assert(kListTensors <= kTickets && kListTensors <= 64);

template <template <class> class Rule, class T> void list_entry(void* stream, const void* p) {
  const ListArgs& a = *static_cast<const ListArgs*>(p);
  FLAM_LAUNCH((list_kernel<Rule, T>), dim3(unsigned(a.chunks)), dim3(kListThreads), 0, stream, a);
  if constexpr (kCounts<Rule<Compute<T>>>) {
    if (a.tickets < 0)
      FLAM_LAUNCH((count_kernel<typename Rule<Compute<T>>::Count>), dim3(1), dim3(64), 0, stream,
                  a);
  }
}

}  // namespace flambeau::FLAM_TARGET
