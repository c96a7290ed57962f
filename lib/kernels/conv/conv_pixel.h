// Pixels whose channels lie together, and how they are made of an image's rows and put into a
// result's: channels in the arithmetic type, or pairs of channels in bfloat16, an odd one with a
// zero.
#pragma once
#include "kernels/conv/conv_taps.h"
#include "kernels/conv/conv_tile.h"
#include "kernels/gemm/gemm_pair.h"

namespace flambeau::FLAM_TARGET {

// Elements E of a pixel.
template <class E> int64_t elements_of(int64_t channels) {
  return std::is_same_v<E, DotPair> ? (channels + 1) / 2 : channels;
}

// Element i of a pixel whose channels are so far apart.
template <class T, class E> struct ChannelsAt {
  int64_t at, next;  // next is 0 where a pair lacks its second

  ChannelsAt(int64_t channels, int64_t stride, int64_t i)
      : at((std::is_same_v<E, DotPair> ? 2 * i : i) * stride),
        next(2 * i + 1 < channels ? stride : 0) {}
  E load(const T* pixel) const {
    if constexpr (std::is_same_v<E, DotPair>) {
      const uint32_t low = bits_as<uint16_t>(pixel[at]);
      return E(next ? low | uint32_t(bits_as<uint16_t>(pixel[at + next])) << 16 : low);
    } else {
      return gemm_load(pixel + at);
    }
  }
};

// Whether the image consists of such pixels as it lies: pairs begin at whole elements everywhere.
template <class E, class T> bool holds_pixels(const TapProduct<T>& g) {
  if (g.x_channel != 1) return false;
  if constexpr (std::is_same_v<E, DotPair>) {
    int64_t bits = g.channels | g.x_image;
    for (const TapDim& d : g.dim) bits |= d.stride;
    return bits % 2 == 0 && reinterpret_cast<uintptr_t>(g.x) % sizeof(E) == 0;
  }
  return std::is_same_v<T, E>;
}

// Pixels of an image: `channel` and `step` are strides between channels and between pixels.
template <class T>
void pack_pixels(GemmCompute<T>* to, int64_t pitch, const T* from, int64_t channel, int64_t step,
                 int64_t count, int64_t channels) {
  pack_strip<T>(to, pitch, {from, channel, step}, count, int(channels), int(channels));
}

inline void pack_pixels(DotPair* to, int64_t pitch, const BFloat16* from, int64_t channel,
                        int64_t step, int64_t count, int64_t channels) {
  const int64_t pairs = elements_of<DotPair>(channels);
  const auto* halves = reinterpret_cast<const uint16_t*>(from);
  if (channel == 1) {
    for (int64_t i = 0; i < count; ++i, to += pitch, halves += step) {
      to[pairs - 1] = DotPair(0);
      memcpy(to, halves, size_t(channels) * sizeof *halves);
    }
  } else if (step == 1) {
    const auto load = [&](int pair, int64_t i, int n) {
      const uint16_t* even = halves + 2 * pair * channel + i;
      Vector<uint32_t> v = widen_halves(even, n);
      if (2 * pair + 1 < channels) v |= widen_halves(even + channel, n) << 16;
      return v;
    };
    pack_crossing<uint32_t>(reinterpret_cast<uint32_t*>(to), pitch, load, count, int(pairs),
                            int(pairs));
  } else {
    for (int64_t p = 0; p < pairs; ++p) {
      const ChannelsAt<BFloat16, DotPair> at(channels, channel, p);
      for (int64_t i = 0; i < count; ++i) to[i * pitch + p] = at.load(from + i * step);
    }
  }
}

// Elements [at, at + length) of a row, or zeros where it is null, as pixels.
template <class T, class E>
void copy_pixels(E* to, int64_t pitch, const T* row, int64_t channels, int64_t channel,
                 const TapDim& d, int64_t at, int64_t length) {
  RowCut cut(d, at, length);
  if (!row) cut.low = cut.high = length;
  std::fill(to, to + cut.low * pitch, E(0));
  if (cut.low < cut.high) {
    pack_pixels(to + cut.low * pitch, pitch, row + (at + cut.low) * d.stride, channel, d.stride,
                cut.high - cut.low, channels);
  }
  std::fill(to + cut.high * pitch, to + length * pitch, E(0));
}

#if FLAM_ISA_RANK == 2
// Sums to bfloat16 by the processor's instruction.
inline void put_rounded(BFloat16* out, int64_t channel, int64_t step, const float* from,
                        int64_t pitch, int64_t channels, int64_t count, bool relu) {
  constexpr int lanes = kLanes<float>;
  for (int64_t c = 0; c < channels; c += lanes) {
    const int width = int(std::min<int64_t>(lanes, channels - c));
    const auto load = [&](int64_t j) {
      const Vector<float> v = load_part(from + j * pitch + c, width);
      return relu ? (v < 0 ? Vector<float>{} : v) : v;
    };
    if (channel == 1) {
      for (int64_t j = 0; j < count; ++j) store_rounded(out + c + j * step, load(j), width);
      continue;
    }
    for (int64_t j = 0; j < count; j += lanes) {
      const int n = int(std::min<int64_t>(lanes, count - j));
      Vector<float> v[lanes];
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) v[r] = r < n ? load(j + r) : Vector<float>{};
      transpose<float>(v);
      for (int r = 0; r < width; ++r) store_rounded(out + (c + r) * channel + j, v[r], n);
    }
  }
}
#endif

// Pixels to where they belong, activated; those of the arithmetic type already are.
template <class T, class E = GemmCompute<T>>
void put_pixels(T* out, int64_t channel, int64_t step, const GemmCompute<T>* from, int64_t pitch,
                int64_t channels, int64_t count, Activation activation) {
  using C = GemmCompute<T>;
  if constexpr (std::is_same_v<T, C>) {
    const int n = int(channels);
    if (channel == 1) return pack_dense_strip<C>(out, step, from, pitch, count, n, n);
    if (step == 1) {
      return pack_crossing_strip<C>(out, channel, from, pitch, channels, int(count), int(count));
    }
  }
#if FLAM_ISA_RANK == 2
  if constexpr (std::is_same_v<E, DotPair>) {
    if (channel == 1 || step == 1) {
      return put_rounded(out, channel, step, from, pitch, channels, count,
                         activation == Activation::relu);
    }
  }
#endif
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t c = 0; c < channels; ++c)
      out[c * channel + j * step] = gemm_finish<T>(from[j * pitch + c], activation);
  }
}

}  // namespace flambeau::FLAM_TARGET
