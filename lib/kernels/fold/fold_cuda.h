// Reductions in CUDA. Rows: one thread block per piece of an output, joined by shuffles; terms that
// lie dense come by 16 bytes. Columns and short rows: 32 outputs side by side, eight threads for
// each. No atomics: pieces are joined by a second launch in a fixed tree, so results repeat bit by
// bit.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/fold/fold_common.h"
#include "kernels/map/map_chunk.h"

namespace flambeau::FLAM_TARGET {

template <class Acc> __device__ inline Acc shuffle_xor(Acc acc, int lanes) {
  static_assert(sizeof(Acc) % sizeof(int) == 0 || sizeof(Acc) < sizeof(int));
  constexpr int words = (sizeof(Acc) + 3) / 4;
  int word[words] = {};
  memcpy(word, &acc, sizeof acc);
  for (int w = 0; w < words; ++w) word[w] = __shfl_xor_sync(0xffffffffu, word[w], lanes);
  memcpy(&acc, word, sizeof acc);
  return acc;
}

// The join over a thread block of whole warps; every thread of the first warp has it.
template <class M>
__device__ inline typename M::Acc block_join(const M& m, typename M::Acc acc) {
  using Acc = typename M::Acc;
  for (int lanes = 16; lanes; lanes /= 2) acc = m.join(acc, shuffle_xor(acc, lanes));
  const int warps = int(blockDim.x + 31) / 32, warp = int(threadIdx.x) / 32,
            lane = int(threadIdx.x) % 32;
  if (warps == 1) return acc;
  __shared__ __align__(16) char shared[32 * 16];
  Acc* part = reinterpret_cast<Acc*>(shared);
  __syncthreads();  // the previous round may still be reading
  if (lane == 0) part[warp] = acc;
  __syncthreads();
  acc = lane < warps ? part[lane] : m.zero();
  for (int lanes = 16; lanes; lanes /= 2) acc = m.join(acc, shuffle_xor(acc, lanes));
  return acc;
}

// Terms [first, stop) of an output, of which this thread takes every blockDim.x-th, or every
// blockDim.x-th 16 bytes of dense ones and single ones before and behind these.
template <class M, class T>
__device__ __forceinline__ typename M::Acc fold_terms(const M& m, const FoldArgs& a, const char* in,
                                                      double centre, int64_t first, int64_t stop) {
  typename M::Acc acc = m.zero();
  const int64_t thread = threadIdx.x, step = blockDim.x;
  if (a.reduced > 1 || (a.reduced == 1 && a.reduced_in[0] != int64_t(sizeof(T)))) {
#pragma unroll 4
    for (int64_t i = first + thread; i < stop; i += step)
      acc = m.step(acc, load(reinterpret_cast<const T*>(in + fold_offset(a, i))), centre, i);
    return acc;
  }
  constexpr int kCount = 16 / int(sizeof(T));
  const T* const terms = reinterpret_cast<const T*>(in);
  const int64_t skipped = (16 - reinterpret_cast<uintptr_t>(terms + first) % 16) % 16 / sizeof(T);
  const int64_t begin = first + skipped < stop ? first + skipped : stop,
                chunks = (stop - begin) / kCount, end = begin + chunks * kCount;
  for (int64_t i = first + thread; i < begin; i += step)
    acc = m.step(acc, Compute<T>(load_global(terms + i)), centre, i);
#pragma unroll 2
  for (int64_t c = thread; c < chunks; c += step) {
    const int64_t at = begin + c * kCount;
    const auto x = Chunk<T, kCount>::from(terms + at).values();
#pragma unroll
    for (int e = 0; e < kCount; ++e) acc = m.step(acc, x.v[e], centre, at + e);
  }
  for (int64_t i = end + thread; i < stop; i += step)
    acc = m.step(acc, Compute<T>(load_global(terms + i)), centre, i);
  return acc;
}

template <class M, class T> __global__ void fold_rows_kernel(FoldArgs a) {
  using Acc = typename M::Acc;
  const M m = monoid_from<M>(a.params);
  for (int64_t u = blockIdx.x; u < a.outputs * a.blocks; u += gridDim.x) {
    const int64_t output = u / a.blocks, first = (u - output * a.blocks) * a.block;
    const int64_t stop = first + a.block < a.count ? first + a.block : a.count;
    const FoldPlace at = fold_place(a, output);
    const double centre = M::centred ? a.centre[at.out] : 0;
    const Acc acc = block_join(m, fold_terms<M, T>(m, a, a.in + at.in, centre, first, stop));
    if (threadIdx.x == 0) {
      if (a.blocks == 1) {
        fold_emit(m, a, at.out, acc);
      } else {
        reinterpret_cast<Acc*>(a.partial)[u] = acc;
      }
    }
  }
}

template <class M, class T> __global__ void fold_columns_kernel(FoldArgs a) {
  using Acc = typename M::Acc;
  __shared__ __align__(16) char shared[8 * 32 * 16];
  Acc* part = reinterpret_cast<Acc*>(shared);
  const M m = monoid_from<M>(a.params);
  const int64_t tiles = (a.outputs + 31) / 32;
  for (int64_t u = blockIdx.x; u < tiles * a.blocks; u += gridDim.x) {
    const int64_t piece = u / tiles, output = (u - piece * tiles) * 32 + threadIdx.x;
    const int64_t first = piece * a.block;
    const int64_t stop = first + a.block < a.count ? first + a.block : a.count;
    const bool mine = output < a.outputs;
    const FoldPlace at = fold_place(a, mine ? output : 0);
    const double centre = M::centred ? a.centre[at.out] : 0;
    Acc acc = m.zero();
    for (int64_t i = first + threadIdx.y; mine && i < stop; i += blockDim.y) {
      acc = m.step(acc, load(reinterpret_cast<const T*>(a.in + at.in + fold_offset(a, i))), centre,
                   i);
    }
    __syncthreads();
    part[threadIdx.y * 32 + threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.y == 0 && mine) {
      for (unsigned y = 1; y < blockDim.y; ++y) acc = m.join(acc, part[y * 32 + threadIdx.x]);
      if (a.blocks == 1) {
        fold_emit(m, a, at.out, acc);
      } else {
        reinterpret_cast<Acc*>(a.partial)[output * a.blocks + piece] = acc;
      }
    }
  }
}

template <class M> __global__ void fold_join_kernel(FoldArgs a) {
  using Acc = typename M::Acc;
  const M m = monoid_from<M>(a.params);
  for (int64_t o = blockIdx.x; o < a.outputs; o += gridDim.x) {
    Acc acc = m.zero();
    for (int64_t b = threadIdx.x; b < a.blocks; b += blockDim.x) {
      acc = m.join(acc, reinterpret_cast<const Acc*>(a.partial)[o * a.blocks + b]);
    }
    acc = block_join(m, acc);
    if (threadIdx.x == 0) fold_emit(m, a, fold_place(a, o).out, acc);
  }
}

template <class M, class T> void fold_entry(void* stream, const void* p) {
  static_assert(sizeof(typename M::Acc) <= 16);
  const FoldArgs& a = *static_cast<const FoldArgs*>(p);
  const auto grid = [](int64_t n) { return dim3(unsigned(n < 65535 ? n : 65535)); };
  if (a.columns || a.count <= 16) {
    const int64_t tiles = (a.outputs + 31) / 32;
    const unsigned height = a.count < 8 ? 1 : 8;
    FLAM_LAUNCH((fold_columns_kernel<M, T>), grid(tiles * a.blocks), dim3(32, height), 0, stream,
                a);
  } else {
    const unsigned threads = a.block <= 64 ? 32 : a.block <= 512 ? 128 : 256;
    FLAM_LAUNCH((fold_rows_kernel<M, T>), grid(a.outputs * a.blocks), dim3(threads), 0, stream, a);
  }
  if (a.blocks > 1) FLAM_LAUNCH((fold_join_kernel<M>), grid(a.outputs), dim3(128), 0, stream, a);
}

}  // namespace flambeau::FLAM_TARGET
