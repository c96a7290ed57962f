// How a block of convolutions as products copies half types of images in planes into its tiles:
// neighbouring positions of a channel by pairs. A value is loaded as often as taps meet it, so this
// is for windows that overlap little, as where a network halves its images; any others are turned
// once before. What outside of an image a tap would meet becomes zeros.
#pragma once
#include "kernels/conv/conv_product_planes.h"
#include "kernels/tile/global_access.h"
#include "kernels/tile/shared_access.h"

namespace flambeau::FLAM_TARGET {

// Loads that are under way together, then stores of two values each.
template <int kCount> struct ConvPairs {
  uint32_t low[kCount], high[kCount];

  static __device__ __forceinline__ uint32_t value(const void* from, bool there) {
    return there ? load_global(static_cast<const uint16_t*>(from)) : 0u;
  }
  __device__ __forceinline__ void load(int i, const void* first, bool has_first, const void* second,
                                       bool has_second) {
    low[i] = value(first, has_first);
    high[i] = value(second, has_second);
  }
  __device__ __forceinline__ void store(int i, char* to) const {
    store_shared(reinterpret_cast<uint32_t*>(to), low[i] | high[i] << 16);
  }
};

// A window's start and the taps that meet a pixel from there.
template <class T, bool kStrided> struct ConvPlaneWindow {
  const T* start;
  uint32_t meets;

  __device__ __forceinline__ ConvPlaneWindow() {}
  __device__ __forceinline__ ConvPlaneWindow(const ConvPlanes& g, int row, int rows, int group) {
    const ConvWindow w = conv_window<T>(g, row, rows, group);
    start = conv_window_start<T, kStrided>(g, w);
    meets = conv_taps_met<kStrided>(g, w.at);
  }
};

// Rows along the depth of channels and taps hold what is met at the positions of the block's rows:
// a lane has pairs of them.
template <class T, bool kStrided> struct ConvPairRows {
  static constexpr int kEach = kConvRows / 64, kWarps = kConvThreads / 32,
                       kLines = kConvStep<T> / kWarps;
  using Rows = Swizzle<kConvRows* int(sizeof(T))>;
  ConvPlaneWindow<T, kStrided> window[kEach][2];

  __device__ ConvPairRows(const ConvPlanes& g, int first, int group) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) window[j][e] = {g, first + row(j) + e, g.rows, group};
    }
  }
  static __device__ __forceinline__ int row(int j) { return int(threadIdx.x) % 32 * 2 + j * 64; }
  static __device__ __forceinline__ int line(int i) { return int(threadIdx.x) / 32 + i * kWarps; }
  __device__ __forceinline__ void copy(char* tile, const ConvPlanes& g, int step) const {
    ConvPairs<kLines * kEach> pairs;
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
      const int depth = step * kConvStep<T> + line(i);
      const bool inside = depth < g.depth;
      const ConvPlaneTap t = conv_plane_tap<kStrided>(g, inside ? uint32_t(depth) : 0);
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const auto &a = window[j][0], &b = window[j][1];
        pairs.load(i * kEach + j, a.start + t.offset, inside && (a.meets >> t.tap & 1),
                   b.start + t.offset, inside && (b.meets >> t.tap & 1));
      }
    }
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j)
        pairs.store(i * kEach + j, tile + Rows::offset(line(i), row(j) / kConvChunk<T>) +
                                       row(j) % kConvChunk<T> * int(sizeof(T)));
    }
  }
};

// Where a thread's pair of values lies in rows along the depth, and which row is its first.
template <class T> struct ConvPairPlace {
  static constexpr int kAcross = kConvStep<T> / 2, kBelow = kConvThreads / kAcross;
  static __device__ __forceinline__ int depth() { return int(threadIdx.x) % kAcross * 2; }
  static __device__ __forceinline__ int row(int i) {
    return int(threadIdx.x) / kAcross + i * kBelow;
  }
  static __device__ __forceinline__ char* in(char* tile, int i) {
    return tile + ConvDepthRows::offset(row(i), depth() / kConvChunk<T>) +
           depth() % kConvChunk<T> * int(sizeof(T));
  }
};

// Rows of columns hold the weights of a step: whole chunks where these lie so, else by pairs.
template <class T, bool kStrided, int kColumns>
__device__ __forceinline__ void conv_copy_pair_weights(char* tile, const ConvPlanes& g, int first,
                                                       int group, int step) {
  const T* const w = reinterpret_cast<const T*>(g.w) + int64_t(group) * g.w_group;
  if (g.w_chunks) {
    const int chunk = int(threadIdx.x) % kConvStepChunks,
              depth = step * kConvStep<T> + chunk * kConvChunk<T>;
#pragma unroll
    for (int i = 0; i < kColumns * kConvStepChunks / kConvThreads; ++i) {
      const int row = int(threadIdx.x) / kConvStepChunks + i * (kConvThreads / kConvStepChunks);
      const bool inside = first + row < g.columns && depth < g.depth;
      copy_async(tile + ConvDepthRows::offset(row, chunk),
                 inside ? w + int64_t(first + row) * g.w_row + depth : w,
                 inside ? conv_bytes<T>(depth, g.depth) : 0);
    }
    return;
  }
  using Place = ConvPairPlace<T>;
  constexpr int kEach = kColumns / Place::kBelow;
  const int depth = step * kConvStep<T> + Place::depth();
  const bool inside = depth < g.depth, both = depth + 1 < g.depth;
  const int32_t a = conv_plane_tap<kStrided>(g, inside ? uint32_t(depth) : 0).weight,
                b = conv_plane_tap<kStrided>(g, both ? uint32_t(depth + 1) : 0).weight;
  ConvPairs<kEach> pairs;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int column = first + Place::row(i);
    const T* const from = w + int64_t(column) * g.w_row;
    const bool there = column < g.columns;
    pairs.load(i, from + a, there && inside, from + b, there && both);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) pairs.store(i, Place::in(tile, i));
}

// What copies both tiles of a step: of the result and of the gradient by the data.
template <class T, ConvResult kResult, int kColumns> struct ConvPairCopies {
  static constexpr bool kStrided = kResult == ConvResult::data;
  ConvPairRows<T, kStrided> rows;
  int column, group;

  __device__ ConvPairCopies(const ConvPlanes& g, int row, int column_, int group_)
      : rows(g, row, group_), column(column_), group(group_) {}
  __device__ __forceinline__ void copy(char* a, char* b, const ConvPlanes& g, int step) const {
    conv_copy_pair_weights<T, kStrided, kColumns>(b, g, column, group, step);
    rows.copy(a, g, step);
  }
};

// Of the gradient by the weight, whose depth is positions: rows of output channels hold what lies
// there, rows of channels and taps what these meet.
template <class T, int kColumns> struct ConvPairCopies<T, ConvResult::weight, kColumns> {
  using Place = ConvPairPlace<T>;
  static constexpr int kRows = kConvRows / Place::kBelow, kEach = kColumns / Place::kBelow;
  const T* own;
  int first_row, group;
  int32_t offset[kEach];
  int tap[kEach];  // kConvMostTaps: none, which is never met

  __device__ ConvPairCopies(const ConvPlanes& g, int row, int column, int group_)
      : own(reinterpret_cast<const T*>(g.own.data) + int64_t(group_) * g.own.group),
        first_row(row),
        group(group_) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int c = column + Place::row(i);
      const ConvPlaneTap t = conv_plane_tap<false>(g, c < g.columns ? uint32_t(c) : 0);
      offset[i] = t.offset;
      tap[i] = c < g.columns ? t.tap : kConvMostTaps;
    }
  }
  __device__ __forceinline__ void copy_own(char* tile, const ConvPlanes& g, int position) const {
    const bool inside = position < g.depth, both = position + 1 < g.depth;
    const T* const a = own + conv_own_offset(g, inside ? uint32_t(position) : 0);
    const T* const b = own + conv_own_offset(g, both ? uint32_t(position + 1) : 0);
    ConvPairs<kRows> pairs;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = first_row + Place::row(i);
      const int64_t channel = int64_t(row) * g.own_channel;
      const bool there = row < g.rows;
      pairs.load(i, a + channel, there && inside, b + channel, there && both);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) pairs.store(i, Place::in(tile, i));
  }
  __device__ __forceinline__ void copy(char* a, char* b, const ConvPlanes& g, int step) const {
    const int position = step * kConvStep<T> + Place::depth();
    copy_own(a, g, position);
    const ConvPlaneWindow<T, false> first(g, position, g.depth, group),
        second(g, position + 1, g.depth, group);
    ConvPairs<kEach> pairs;
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      pairs.load(i, first.start + offset[i], first.meets >> tap[i] & 1, second.start + offset[i],
                 second.meets >> tap[i] & 1);
#pragma unroll
    for (int i = 0; i < kEach; ++i) pairs.store(i, Place::in(b, i));
  }
};

}  // namespace flambeau::FLAM_TARGET
