// Reductions in CUDA. Rows: one thread block per piece of an output, joined by shuffles; terms that
// lie dense come by 16 bytes. Columns and short rows: 32 outputs side by side, eight threads for
// each. No atomics: pieces are joined by a second launch in a fixed tree, so results repeat bit by
// bit. Nothing is divided but by what is known before the launch.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/far_divide.h"
#include "kernels/fold/fold_common.h"
#include "kernels/map/map_chunk.h"

namespace flambeau::FLAM_TARGET {

// By the sizes of dimensions; and by how many pieces of outputs there are in turn.
struct FoldDivides {
  FarDivide kept[kFoldDims], reduced[kFoldDims], turn;

  FoldDivides(const FoldArgs& a, int64_t in_turn) : turn(in_turn) {
    for (int d = 1; d < a.kept; ++d) kept[d] = FarDivide(a.kept_size[d]);
    for (int d = 1; d < a.reduced && a.count; ++d) reduced[d] = FarDivide(a.reduced_size[d]);
  }
};

__device__ inline FoldPlace fold_place(const FoldArgs& a, const FoldDivides& by, int64_t output) {
  FoldPlace p{0, 0};
  for (int d = a.kept - 1; d >= 0; --d) {
    const int64_t outer = d ? quotient(output, by.kept[d]) : 0, i = output - outer * a.kept_size[d];
    p.in += i * a.kept_in[d];
    p.out += i * a.kept_out[d];
    output = outer;
  }
  return p;
}

__device__ inline int64_t fold_offset(const FoldArgs& a, const FoldDivides& by, int64_t term) {
  int64_t at = 0;
  for (int d = a.reduced - 1; d > 0; --d) {
    const int64_t outer = quotient(term, by.reduced[d]);
    at += (term - outer * a.reduced_size[d]) * a.reduced_in[d];
    term = outer;
  }
  return a.reduced ? at + term * a.reduced_in[0] : 0;
}

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

// Less than 2^31 terms [first, stop) of an output, of which this thread takes every blockDim.x-th,
// or every blockDim.x-th 16 bytes of dense ones and single ones before and behind these.
template <class M, class T>
__device__ __forceinline__ typename M::Acc fold_terms(const M& m, const FoldArgs& a,
                                                      const FoldDivides& by, const char* in,
                                                      double centre, int64_t first, int64_t stop) {
  typename M::Acc acc = m.zero();
  const uint32_t thread = threadIdx.x, step = blockDim.x, count = uint32_t(stop - first);
  if (a.reduced > 1 || (a.reduced == 1 && a.reduced_in[0] != int64_t(sizeof(T)))) {
#pragma unroll 4
    for (uint32_t i = thread; i < count; i += step) {
      const char* const term = in + fold_offset(a, by, first + i);
      acc = m.step(acc, load(reinterpret_cast<const T*>(term)), centre, first + i);
    }
    return acc;
  }
  constexpr uint32_t kCount = 16 / sizeof(T);
  const T* const terms = reinterpret_cast<const T*>(in) + first;
  const uint32_t skipped = uint32_t(-reinterpret_cast<uintptr_t>(terms) % 16 / sizeof(T)),
                 begin = skipped < count ? skipped : count, chunks = (count - begin) / kCount,
                 end = begin + chunks * kCount;
  for (uint32_t i = thread; i < begin; i += step)
    acc = m.step(acc, Compute<T>(load_global(terms + i)), centre, first + i);
#pragma unroll 2
  for (uint32_t c = thread; c < chunks; c += step) {
    const uint32_t at = begin + c * kCount;
    const auto x = Chunk<T, int(kCount)>::from(terms + at).values();
#pragma unroll
    for (int e = 0; e < int(kCount); ++e) acc = m.step(acc, x.v[e], centre, first + at + e);
  }
  for (uint32_t i = end + thread; i < count; i += step)
    acc = m.step(acc, Compute<T>(load_global(terms + i)), centre, first + i);
  return acc;
}

template <class M, class T>
__global__ void fold_rows_kernel(const __grid_constant__ FoldArgs a,
                                 const __grid_constant__ FoldDivides by) {
  using Acc = typename M::Acc;
  const M m = monoid_from<M>(a.params);
  for (int64_t u = blockIdx.x; u < a.outputs * a.blocks; u += gridDim.x) {
    const int64_t output = quotient(u, by.turn), first = (u - output * a.blocks) * a.block;
    const int64_t stop = first + a.block < a.count ? first + a.block : a.count;
    const FoldPlace at = fold_place(a, by, output);
    const double centre = M::centred ? a.centre[at.out] : 0;
    const Acc acc = block_join(m, fold_terms<M, T>(m, a, by, a.in + at.in, centre, first, stop));
    if (threadIdx.x == 0) {
      if (a.blocks == 1) {
        fold_emit(m, a, at.out, acc);
      } else {
        reinterpret_cast<Acc*>(a.partial)[u] = acc;
      }
    }
  }
}

template <class M, class T>
__global__ void fold_columns_kernel(const __grid_constant__ FoldArgs a,
                                    const __grid_constant__ FoldDivides by) {
  using Acc = typename M::Acc;
  __shared__ __align__(16) char shared[8 * 32 * 16];
  Acc* part = reinterpret_cast<Acc*>(shared);
  const M m = monoid_from<M>(a.params);
  const int64_t tiles = (a.outputs + 31) / 32;
  for (int64_t u = blockIdx.x; u < tiles * a.blocks; u += gridDim.x) {
    const int64_t piece = quotient(u, by.turn), output = (u - piece * tiles) * 32 + threadIdx.x;
    const int64_t first = piece * a.block;
    const int64_t stop = first + a.block < a.count ? first + a.block : a.count;
    const bool mine = output < a.outputs;
    const FoldPlace at = fold_place(a, by, mine ? output : 0);
    const double centre = M::centred ? a.centre[at.out] : 0;
    Acc acc = m.zero();
    for (int64_t i = first + threadIdx.y; mine && i < stop; i += blockDim.y) {
      const char* const term = a.in + at.in + fold_offset(a, by, i);
      acc = m.step(acc, load(reinterpret_cast<const T*>(term)), centre, i);
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

template <class M>
__global__ void fold_join_kernel(const __grid_constant__ FoldArgs a,
                                 const __grid_constant__ FoldDivides by) {
  using Acc = typename M::Acc;
  const M m = monoid_from<M>(a.params);
  for (int64_t o = blockIdx.x; o < a.outputs; o += gridDim.x) {
    Acc acc = m.zero();
    for (int64_t b = threadIdx.x; b < a.blocks; b += blockDim.x) {
      acc = m.join(acc, reinterpret_cast<const Acc*>(a.partial)[o * a.blocks + b]);
    }
    acc = block_join(m, acc);
    if (threadIdx.x == 0) fold_emit(m, a, fold_place(a, by, o).out, acc);
  }
}

template <class M, class T> void fold_entry(void* stream, const void* p) {
  static_assert(sizeof(typename M::Acc) <= 16);
  const FoldArgs& a = *static_cast<const FoldArgs*>(p);
  const auto grid = [](int64_t n) { return dim3(unsigned(n < 65535 ? n : 65535)); };
  if (a.columns || a.count <= 16) {
    const int64_t tiles = (a.outputs + 31) / 32;
    const unsigned height = a.count < 8 ? 1 : 8;
    FLAM_LAUNCH((fold_columns_kernel<M, T>), grid(tiles * a.blocks), dim3(32, height), 0, stream, a,
                FoldDivides(a, tiles));
  } else {
    const unsigned threads = a.block <= 64 ? 32 : a.block <= 512 ? 128 : 256;
    FLAM_LAUNCH((fold_rows_kernel<M, T>), grid(a.outputs * a.blocks), dim3(threads), 0, stream, a,
                FoldDivides(a, a.blocks));
  }
  if (a.blocks > 1) {
    FLAM_LAUNCH((fold_join_kernel<M>), grid(a.outputs), dim3(128), 0, stream, a, FoldDivides(a, 1));
  }
}

}  // namespace flambeau::FLAM_TARGET
