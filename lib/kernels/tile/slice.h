// A slice of a matrix product's operand in shared memory: kOuter rows of A (columns of B) and
// kDepth steps of their sums, as the operand lies in memory, depth or rows first. It is filled by
// chunks of 16 bytes (asynchronously where all chunks are aligned, else element by element) and
// read as fragments; neither meets a bank twice (swizzle.h).
#pragma once
#include "kernels/tile/copy_async.h"
#include "kernels/tile/fragment.h"
#include "kernels/tile/mma_whole.h"
#include "kernels/tile/narrow_pair.h"
#include "kernels/tile/swizzle.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kMostShared = 64 << 10;  // bytes of a block on sm_75, which has least

// An operand, its denser direction named minor.
template <class T> struct SliceSource {
  const T* data;
  int64_t major_stride, minor_stride, major_size, minor_size;
  bool chunked;  // every chunk of 16 bytes is aligned
};

template <class T, int kOuter, int kDepth, bool kDepthFirst, int kThreads> struct TileSlice {
  using Rows = Swizzle<(kDepthFirst ? kDepth : kOuter) * int(sizeof(T))>;
  static constexpr int kEach = 16 / int(sizeof(T)), kBytes = kOuter * kDepth * int(sizeof(T)),
                       kMajor = kDepthFirst ? kOuter : kDepth,
                       kRowsAtOnce = kThreads / Rows::kChunks;
  static_assert(kThreads % Rows::kChunks == 0 && kMajor % kRowsAtOnce == 0,
                "every thread fills as many chunks, one below the other");

  static __device__ __forceinline__ void fill(unsigned char* slice, const SliceSource<T>& source,
                                              int64_t outer, int64_t depth) {
    const int64_t major = kDepthFirst ? outer : depth, minor = kDepthFirst ? depth : outer;
    const int row = int(threadIdx.x) / Rows::kChunks, chunk = int(threadIdx.x) % Rows::kChunks;
    const int64_t at = minor + chunk * kEach;
    const int columns = clamped(source.minor_size - at, kEach),
              rows = columns ? clamped(source.major_size - major, kMajor) : 0;
    const T* from = source.data + (major + row) * source.major_stride + at * source.minor_stride;
    const int64_t step = kRowsAtOnce * source.major_stride;
    if (source.chunked) {
      // Of wide rows, all addresses at once are more than a kernel has registers for.
      [[maybe_unused]] constexpr int kUnder = Rows::kRowBytes > 512 ? 4 : kMajor / kRowsAtOnce;
#pragma unroll kUnder
      for (int r = row; r < row + kMajor; r += kRowsAtOnce, from += step) {
        const bool there = r < rows;
        copy_async(slice + Rows::offset(r, chunk), there ? from : source.data,
                   there ? columns * int(sizeof(T)) : 0);
      }
    } else {
#pragma unroll 1
      for (int r = row; r < row + kMajor; r += kRowsAtOnce, from += step)
        gather(slice + Rows::offset(r, chunk), from, source.minor_stride, r < rows ? columns : 0);
    }
  }

  // 16 rows of A from `row`, a multiple of 16, the step-th depth of the slice. Whole tiles of 16
  // rows keep a lane's place, and an even number of chunks is an XOR of it: one address serves all
  // steps. Elements of f32 are rounded to tf32, but for products of whole ones (mma_whole.h).
  template <bool kWhole = false>
  static __device__ __forceinline__ FragmentA<T> a(const unsigned char* slice, int row, int step) {
    FragmentA<T> f;
    const int lane = int(threadIdx.x) % 32;
    if constexpr (sizeof(T) < 8 && kDepthFirst) {
      load_matrices<false>(
          f.r, slice + row * Rows::kRowBytes + (Rows::offset(lane % 16, lane / 16) ^ step * 32));
      if constexpr (!kWhole) round(f.r);
    } else if constexpr (sizeof(T) == 2) {
      load_matrices<true>(
          f.r, slice + Rows::offset(step * 16 + lane % 8 + lane / 16 * 8, row / 8 + lane / 8 % 2));
    } else {
#pragma unroll
      for (int h = 0; h < FragmentTraits<T>::kRegisters; ++h) {
        f.r[2 * h] = element<kWhole>(slice, row, step, h);
        f.r[2 * h + 1] = element<kWhole>(slice, row + 8, step, h);
      }
    }
    return f;
  }

  // 16 columns of B from `column`. Where kWhole is set and the depth is first, columns of f32 lie
  // as whole_column says.
  template <bool kWhole = false>
  static __device__ __forceinline__ void b(FragmentB<T> (&f)[2], const unsigned char* slice,
                                           int column, int step) {
    const int lane = int(threadIdx.x) % 32;
    if constexpr (sizeof(T) == 8 || (sizeof(T) == 4 && !kDepthFirst)) {
#pragma unroll
      for (int h = 0; h < FragmentTraits<T>::kRegisters; ++h) {
        f[0].r[h] = element<kWhole>(slice, column, step, h);
        f[1].r[h] = element<kWhole>(slice, column + 8, step, h);
      }
    } else {
      uint32_t r[4];
      if constexpr (kDepthFirst) {
        const int place = kWhole ? whole_column<T>(lane % 8) : lane % 8;
        load_matrices<false>(
            r, slice + Rows::offset(column + place + lane / 16 * 8, 2 * step + lane / 8 % 2));
        if constexpr (!kWhole) round(r);
      } else {
        load_matrices<true>(r, slice + step * 16 * Rows::kRowBytes +
                                   (Rows::offset(lane % 16, lane / 16) ^ column * 2));
      }
      f[0] = {{r[0], r[1]}};
      f[1] = {{r[2], r[3]}};
    }
  }

 private:
  static __device__ __forceinline__ int clamped(int64_t n, int most) {
    return n <= 0 ? 0 : n < most ? int(n) : most;
  }

  static __device__ __forceinline__ void gather(unsigned char* to, const T* from, int64_t stride,
                                                int valid) {
    union {
      uint4 chunk;
      T each[kEach];
    } v;
    v.chunk = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int e = 0; e < kEach; ++e)
      if (e < valid) v.each[e] = from[e * stride];
    store_shared(reinterpret_cast<uint4*>(to), v.chunk);
  }

  // What this lane holds in register h of a fragment, of the row `first` + group.
  template <bool kWhole>
  static __device__ __forceinline__ typename FragmentTraits<T>::Register element(
      const unsigned char* slice, int first, int step, int h) {
    const int lane = int(threadIdx.x) % 32, outer = first + lane / 4,
              depth = step * FragmentA<T>::kDepth + 4 * h + lane % 4;
    if constexpr (sizeof(T) == 4 && !kDepthFirst && Rows::kChunks >= 8) {
      // Eight rows or chunks further a lane has the same place: few addresses serve all.
      const int place = Rows::offset(4 * h + lane % 4, lane / 16) ^ first % 32 * 4;
      const T* p = reinterpret_cast<const T*>(slice + step * 8 * Rows::kRowBytes +
                                              first / 32 * 128 + place) +
                   lane / 4 % 4;
      return register_of<kWhole>(load_shared(p));
    }
    const int major = kDepthFirst ? outer : depth, minor = kDepthFirst ? depth : outer;
    const T v = load_shared(reinterpret_cast<const T*>(slice + Rows::offset(major, minor / kEach)) +
                            minor % kEach);
    return register_of<kWhole>(v);
  }

  template <bool kWhole>
  static __device__ __forceinline__ typename FragmentTraits<T>::Register register_of(T v) {
    if constexpr (sizeof(T) == 8) {
      return v;
    } else if constexpr (kWhole) {
      return bits_as<uint32_t>(v);
    } else {
      return to_tf32(v);
    }
  }

  static __device__ __forceinline__ void round(uint32_t (&r)[4]) {
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (uint32_t& v : r) v = to_tf32(bits_as<float>(v));
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
