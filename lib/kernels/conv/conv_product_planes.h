// How a block of convolutions as products copies f32 of images in planes into its tiles, word by
// word past the registers: channels outside, taps inside is the depth, as weights lie. Rows of a
// warp are positions side by side, so that it reads and writes neighbours. What outside of an image
// a tap would meet becomes zeros.
#pragma once
#include "kernels/conv/conv_product_tile.h"
#include "kernels/tile/copy_word.h"

namespace flambeau::FLAM_TARGET {

// The taps of a window that meet a pixel, a bit each.
template <bool kStrided>
__device__ __forceinline__ uint32_t conv_taps_met(const ConvPlanes& g,
                                                  const int32_t (&at)[kConvDims]) {
  uint32_t along[kConvDims];
#pragma unroll
  for (int d = 0; d < kConvDims; ++d) {
    along[d] = 0;
#pragma unroll 1
    for (uint32_t t = 0; t < g.taps[d].divisor; ++t) {
      int32_t c = at[d] + int32_t(t) * g.step[d];
      bool meets = true;
      if constexpr (kStrided) {
        uint32_t rest = c < 0 ? 0 : uint32_t(c);
        const uint32_t q = divide(rest, g.stride[d]);
        meets = c >= 0 && rest == 0;
        c = int32_t(q);
      }
      if (meets && uint32_t(c) < uint32_t(g.met.size[d])) along[d] |= 1u << t;
    }
  }
  uint32_t all = 0;
  int shift = 0;
#pragma unroll 1
  for (uint32_t a = 0; a < g.taps[0].divisor; ++a) {
#pragma unroll 1
    for (uint32_t b = 0; b < g.taps[1].divisor; ++b) {
      if (along[0] >> a & along[1] >> b & 1) all |= along[2] << shift;
      shift += int(g.taps[2].divisor);
    }
  }
  return all;
}

// Where a window begins; of the gradient by the data in whole strides, as its taps are.
template <class T, bool kStrided>
__device__ __forceinline__ const T* conv_window_start(const ConvPlanes& g, const ConvWindow& w) {
  int64_t at = 0;
#pragma unroll
  for (int d = 0; d < kConvDims; ++d) {
    int32_t c = w.at[d];
    if constexpr (kStrided) c = c < 0 ? 0 : int32_t(quotient(uint32_t(c), g.stride[d]));
    at += int64_t(c) * g.met.space[d];
  }
  return reinterpret_cast<const T*>(w.data) + at;
}

// A place along the depth of channels and taps, from a window's start in the image and from an
// output channel's in the weights.
struct ConvPlaneTap {
  int tap;
  int32_t offset, weight;
};
template <bool kStrided>
__device__ __forceinline__ ConvPlaneTap conv_plane_tap(const ConvPlanes& g, uint32_t depth) {
  uint32_t rest = depth;
  const uint32_t channel = divide(rest, g.all_taps);
  ConvPlaneTap t{int(rest), int32_t(channel) * g.met_channel, int32_t(channel) * g.w_depth};
#pragma unroll
  for (int d = kConvDims; d-- > 0;) {
    const uint32_t outer = divide(rest, g.taps[d]);
    int32_t step = int32_t(rest) * g.step[d];
    if constexpr (kStrided) step = -int32_t(quotient(uint32_t(-step), g.stride[d]));
    t.offset += step * g.met.space[d];
    t.weight += int32_t(rest) * g.w_tap[d];
    rest = outer;
  }
  return t;
}

// Of the gradient by the weight: a position in what lies there.
__device__ __forceinline__ int64_t conv_own_offset(const ConvPlanes& g, uint32_t position) {
  int64_t at = 0;
#pragma unroll
  for (int d = kConvDims; d-- > 0;) {
    const uint32_t outer = divide(position, g.positions[d]);
    at += int64_t(position) * g.own.space[d];
    position = outer;
  }
  return at + int64_t(position) * g.own.image;
}

// Rows along the depth hold what a tap meets at the positions of the block's rows.
template <bool kStrided> struct ConvPlaneRows {
  static constexpr int kEach = kConvRows / 32, kWarps = kConvThreads / 32;
  using Rows = Swizzle<kConvRows * 4>;
  const float* start[kEach];
  uint32_t meets[kEach];

  __device__ ConvPlaneRows(const ConvPlanes& g, int first, int group) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const ConvWindow w = conv_window<float>(g, first + row(j), g.rows, group);
      start[j] = conv_window_start<float, kStrided>(g, w);
      meets[j] = conv_taps_met<kStrided>(g, w.at);
    }
  }
  static __device__ __forceinline__ int row(int j) { return int(threadIdx.x) % 32 + j * 32; }
  __device__ __forceinline__ void copy(char* tile, const ConvPlanes& g, int step) const {
#pragma unroll
    for (int i = 0; i < kConvStep<float> / kWarps; ++i) {
      const int line = int(threadIdx.x) / 32 + i * kWarps, depth = step * kConvStep<float> + line;
      const bool inside = depth < g.depth;
      const ConvPlaneTap t = conv_plane_tap<kStrided>(g, inside ? uint32_t(depth) : 0);
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const bool meets_it = inside && (meets[j] >> t.tap & 1);
        copy_word_async(tile + Rows::offset(line, row(j) / 4) + row(j) % 4 * 4,
                        meets_it ? static_cast<const void*>(start[j] + t.offset) : g.met.data,
                        meets_it);
      }
    }
  }
};

// Rows of columns hold the weights of a step: whole chunks where these lie so, else word by word.
template <bool kStrided, int kColumns>
__device__ __forceinline__ void conv_copy_plane_weights(char* tile, const ConvPlanes& g, int first,
                                                        int group, int step) {
  const float* const w = reinterpret_cast<const float*>(g.w) + int64_t(group) * g.w_group;
  if (g.w_chunks) {
    const int chunk = int(threadIdx.x) % kConvStepChunks,
              depth = step * kConvStep<float> + chunk * 4;
#pragma unroll
    for (int i = 0; i < kColumns * kConvStepChunks / kConvThreads; ++i) {
      const int row = int(threadIdx.x) / kConvStepChunks + i * (kConvThreads / kConvStepChunks);
      const bool inside = first + row < g.columns && depth < g.depth;
      copy_async(tile + ConvDepthRows::offset(row, chunk),
                 inside ? w + int64_t(first + row) * g.w_row + depth : w,
                 inside ? conv_bytes<float>(depth, g.depth) : 0);
    }
    return;
  }
  constexpr int kStep = kConvStep<float>;
  const int line = int(threadIdx.x) % kStep, depth = step * kStep + line;
  const bool inside = depth < g.depth;
  const ConvPlaneTap t = conv_plane_tap<kStrided>(g, inside ? uint32_t(depth) : 0);
#pragma unroll
  for (int i = 0; i < kColumns * kStep / kConvThreads; ++i) {
    const int row = int(threadIdx.x) / kStep + i * (kConvThreads / kStep);
    const bool there = inside && first + row < g.columns;
    copy_word_async(tile + ConvDepthRows::offset(row, line / 4) + line % 4 * 4,
                    there ? w + int64_t(first + row) * g.w_row + t.weight : w, there);
  }
}

// What copies both tiles of a step: of the result and of the gradient by the data.
template <ConvResult kResult, int kColumns> struct ConvPlaneCopies {
  static constexpr bool kStrided = kResult == ConvResult::data;
  ConvPlaneRows<kStrided> rows;
  int column, group;

  __device__ ConvPlaneCopies(const ConvPlanes& g, int row, int column_, int group_)
      : rows(g, row, group_), column(column_), group(group_) {}
  __device__ __forceinline__ void copy(char* a, char* b, const ConvPlanes& g, int step) const {
    rows.copy(a, g, step);
    conv_copy_plane_weights<kStrided, kColumns>(b, g, column, group, step);
  }
};

// Of the gradient by the weight, whose depth is positions: rows of output channels hold what lies
// there, rows of channels and taps what these meet.
template <int kColumns> struct ConvPlaneCopies<ConvResult::weight, kColumns> {
  static constexpr int kStep = kConvStep<float>, kBelow = kConvThreads / kStep,
                       kEach = kColumns / kBelow;
  const float* own;
  int first_row, first_column, group;
  int32_t offset[kEach];
  int tap[kEach];  // kConvMostTaps: none, which is never met

  __device__ ConvPlaneCopies(const ConvPlanes& g, int row, int column, int group_)
      : own(reinterpret_cast<const float*>(g.own.data) + int64_t(group_) * g.own.group),
        first_row(row),
        first_column(column),
        group(group_) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int c = column + int(threadIdx.x) / kStep + i * kBelow;
      const ConvPlaneTap t = conv_plane_tap<false>(g, c < g.columns ? uint32_t(c) : 0);
      offset[i] = t.offset;
      tap[i] = c < g.columns ? t.tap : kConvMostTaps;
    }
  }
  __device__ __forceinline__ void copy(char* a, char* b, const ConvPlanes& g, int step) const {
    const int line = int(threadIdx.x) % kStep, below = int(threadIdx.x) / kStep,
              position = step * kStep + line;
    const int in_row = line % 4 * 4;
    const bool inside = position < g.depth;
    const ConvWindow w = conv_window<float>(g, position, g.depth, group);
    const float* const start = conv_window_start<float, false>(g, w);
    const uint32_t meets = conv_taps_met<false>(g, w.at);
    const int64_t at = conv_own_offset(g, inside ? uint32_t(position) : 0);
#pragma unroll
    for (int i = 0; i < kConvRows / kBelow; ++i) {
      const int row = below + i * kBelow;
      const bool there = inside && first_row + row < g.rows;
      copy_word_async(a + ConvDepthRows::offset(row, line / 4) + in_row,
                      there ? own + at + int64_t(first_row + row) * g.own_channel : own, there);
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const bool there = meets >> tap[i] & 1;
      copy_word_async(b + ConvDepthRows::offset(below + i * kBelow, line / 4) + in_row,
                      there ? start + offset[i] : own, there);
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
