// How a block of convolutions as products copies 16 bytes at a time into its tiles: pixels under
// taps, weights, and pixels at positions. What is outside an image or a matrix becomes zeros.
#pragma once
#include "kernels/conv/conv_product.h"
#include "kernels/cuda_launch.h"
#include "kernels/tile/copy_async.h"
#include "kernels/tile/swizzle.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kConvThreads = 256, kConvRows = 128;
inline constexpr int kConvStepChunks = 4;             // of the depth
using ConvDepthRows = Swizzle<kConvStepChunks * 16>;  // tiles whose rows go along the depth
template <class T> inline constexpr int kConvChunk = 16 / int(sizeof(T));  // channels
template <class T> inline constexpr int kConvStep = kConvStepChunks * kConvChunk<T>;
constexpr int32_t kConvOutside = -(1 << 30);  // a coordinate that stays outside under every tap

// Bytes of a chunk that hold channels.
template <class T> FLAM_FN int conv_bytes(int channel, int channels) {
  const int bytes = (channels - channel) * int(sizeof(T));
  return bytes < 16 ? bytes : 16;
}

// A step along the depth of taps and channels; no bytes beyond its end.
struct ConvTap {
  int32_t at[kConvDims];
  int channel, bytes;
};

template <class T> FLAM_FN ConvTap conv_tap(const ConvProduct& g, uint32_t chunk) {
  ConvTap t;
  const bool inside = chunk < uint32_t(g.depth);
  uint32_t tap = divide(chunk, g.chunks);
  t.channel = int(chunk) * kConvChunk<T>;
  t.bytes = inside ? conv_bytes<T>(t.channel, g.met.channels) : 0;
  for (int d = kConvDims; d-- > 0;) {
    const uint32_t outer = divide(tap, g.taps[d]);
    t.at[d] = int32_t(tap);
    tap = outer;
  }
  return t;
}

// The image of a row, and where its window begins.
struct ConvWindow {
  const char* data;
  int32_t at[kConvDims];
};

template <class T>
FLAM_FN ConvWindow conv_window(const ConvProduct& g, int row, int rows, int group) {
  ConvWindow w;
  uint32_t rest = row < rows ? uint32_t(row) : 0;
  for (int d = kConvDims; d-- > 0;) {
    const uint32_t outer = divide(rest, g.positions[d]);
    w.at[d] = int32_t(rest) * g.scale[d] + g.shift[d];
    rest = outer;
  }
  if (row >= rows) w.at[0] = kConvOutside;
  w.data = g.met.data +
           (int64_t(rest) * g.met.image + int64_t(group) * g.met.group) * int64_t(sizeof(T));
  return w;
}

// Whether a tap of the window meets a pixel, which is `offset` elements from its image's start.
// With kStrided only every stride-th coordinate is one.
template <bool kStrided>
FLAM_FN bool conv_meets(const ConvProduct& g, const ConvWindow& w, const int32_t (&tap)[kConvDims],
                        uint32_t& offset) {
  bool meets = true;
  for (int d = 0; d < kConvDims; ++d) {
    int32_t at = w.at[d] + tap[d] * g.step[d];
    if constexpr (kStrided) {
      uint32_t rest = at < 0 ? 0 : uint32_t(at);
      const uint32_t q = divide(rest, g.stride[d]);
      meets = meets && at >= 0 && rest == 0;
      at = int32_t(q);
    }
    meets = meets && uint32_t(at) < uint32_t(g.met.size[d]);
    offset += uint32_t(at) * uint32_t(g.met.space[d]);
  }
  return meets;
}

// Rows are windows, along the depth of taps and channels: a thread copies one chunk of two rows.
template <class T, bool kStrided> struct ConvWindowRows {
  static constexpr int kEach = kConvRows * kConvStepChunks / kConvThreads;
  ConvWindow window[kEach];

  __device__ ConvWindowRows(const ConvProduct& g, int first, int group) {
    for (int i = 0; i < kEach; ++i) window[i] = conv_window<T>(g, first + row(i), g.rows, group);
  }
  static FLAM_FN int row(int i) {
    return int(threadIdx.x) / kConvStepChunks + i * (kConvThreads / kConvStepChunks);
  }
  __device__ void copy(char* tile, const ConvProduct& g, const ConvTap& tap) const {
    for (int i = 0; i < kEach; ++i) {
      uint32_t offset = uint32_t(tap.channel);
      const bool meets = conv_meets<kStrided>(g, window[i], tap.at, offset) && tap.bytes > 0;
      copy_async(tile + ConvDepthRows::offset(row(i), int(threadIdx.x) % kConvStepChunks),
                 meets ? window[i].data + int64_t(offset) * int(sizeof(T)) : g.met.data,
                 meets ? tap.bytes : 0);
    }
  }
};

// Rows are output channels, along the same depth.
template <class T, int kColumns>
__device__ void conv_copy_weight_rows(char* tile, const ConvProduct& g, int first, int group,
                                      int chunk, const ConvTap& tap) {
  for (int i = 0; i < kColumns * kConvStepChunks / kConvThreads; ++i) {
    const int row = ConvWindowRows<T, false>::row(i), column = first + row;
    const bool inside = column < g.columns && tap.bytes > 0;
    const int64_t at = (int64_t(group) * g.columns + column) * g.w_row + chunk * kConvChunk<T>;
    copy_async(tile + ConvDepthRows::offset(row, int(threadIdx.x) % kConvStepChunks),
               inside ? g.w + at * int(sizeof(T)) : g.w, inside ? tap.bytes : 0);
  }
}

// Rows go along the depth of taps and output channels, and hold the input channels of each.
template <class T, int kColumns>
__device__ void conv_copy_turned_weights(char* tile, const ConvProduct& g, int first, int group,
                                         int step) {
  constexpr int kChunks = kColumns / kConvChunk<T>, kBelow = kConvThreads / kChunks;
  const int place = int(threadIdx.x) % kChunks, column = first + place * kConvChunk<T>;
  const int padded = (g.columns + kConvChunk<T> - 1) / kConvChunk<T> * kConvChunk<T>;
  for (int i = 0; i < kConvStep<T> / kBelow; ++i) {
    const int row = int(threadIdx.x) / kChunks + i * kBelow;
    uint32_t chunk = uint32_t(step * kConvStepChunks + row / kConvChunk<T>);
    bool inside = chunk < uint32_t(g.depth) && column < g.columns;
    const uint32_t tap = divide(chunk, g.chunks);
    const int channel = int(chunk) * kConvChunk<T> + row % kConvChunk<T>;
    inside = inside && channel < g.met.channels;
    const int64_t at =
        (int64_t(group) * g.met.channels + channel) * g.w_row + int64_t(tap) * padded + column;
    copy_async(tile + Swizzle<kColumns* int(sizeof(T))>::offset(row, place),
               inside ? g.w + at * int(sizeof(T)) : g.w,
               inside ? conv_bytes<T>(column, g.columns) : 0);
  }
}

// Rows go along the depth of positions, and hold channels of the pixels there.
template <class T>
__device__ __forceinline__ void conv_copy_positions(char* tile, const ConvProduct& g, int first,
                                                    int group, int step) {
  constexpr int kChunks = kConvRows / kConvChunk<T>, kBelow = kConvThreads / kChunks;
  const int place = int(threadIdx.x) % kChunks, channel = first + place * kConvChunk<T>;
  for (int i = 0; i < kConvStep<T> / kBelow; ++i) {
    const int row = int(threadIdx.x) / kChunks + i * kBelow, position = step * kConvStep<T> + row;
    const bool inside = position < g.depth && channel < g.own.channels;
    uint32_t rest = inside ? uint32_t(position) : 0;
    int64_t at = int64_t(group) * g.own.group + channel;
    for (int d = kConvDims; d-- > 0;) {
      const uint32_t outer = divide(rest, g.positions[d]);
      at += int64_t(rest) * g.own.space[d];
      rest = outer;
    }
    at += int64_t(rest) * g.own.image;
    copy_async(tile + Swizzle<kConvRows* int(sizeof(T))>::offset(row, place),
               inside ? g.own.data + at * int(sizeof(T)) : g.own.data,
               inside ? conv_bytes<T>(channel, g.own.channels) : 0);
  }
}

// Rows go along the depth of positions, and hold what taps of their windows meet: a thread has one
// tap and one chunk of channels.
template <class T, int kColumns> struct ConvTapColumns {
  static constexpr int kChunks = kColumns / kConvChunk<T>, kBelow = kConvThreads / kChunks;
  ConvTap tap;

  __device__ ConvTapColumns(const ConvProduct& g, int first) {
    const int column = first + int(threadIdx.x) % kChunks * kConvChunk<T>;
    tap = conv_tap<T>(g, uint32_t(column / kConvChunk<T>));
    tap.bytes = column < g.columns ? conv_bytes<T>(tap.channel, g.met.channels) : 0;
  }
  __device__ void copy(char* tile, const ConvProduct& g, int group, int step) const {
    for (int i = 0; i < kConvStep<T> / kBelow; ++i) {
      const int row = int(threadIdx.x) / kChunks + i * kBelow;
      const ConvWindow window = conv_window<T>(g, step * kConvStep<T> + row, g.depth, group);
      uint32_t offset = uint32_t(tap.channel);
      const bool meets = conv_meets<false>(g, window, tap.at, offset) && tap.bytes > 0;
      copy_async(tile + Swizzle<kColumns* int(sizeof(T))>::offset(row, int(threadIdx.x) % kChunks),
                 meets ? window.data + int64_t(offset) * int(sizeof(T)) : g.met.data,
                 meets ? tap.bytes : 0);
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
