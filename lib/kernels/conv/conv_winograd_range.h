// Where Winograd's transforms serve. All that comes out of a tile has the rounding of its greatest
// element, also what does not see that element, so plain sums decide where a tile's pixels are too
// far apart. A pixel's level is its greatest magnitude over the channels: channels, and taps, of
// different scales are not looked for.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernels/conv/conv_winograd.h"

namespace flambeau::FLAM_TARGET {

inline constexpr float kRange = 8;  // errors stay at about 1e-5 of a sum of magnitudes

// The levels of a line of square tiles, `size` rows of as many pixels as the tiles cover.
class WinogradLevels {
 public:
  using V = Vector<float>;
  WinogradLevels(int64_t tiles, int64_t size, int64_t step)
      : tiles_(tiles),
        size_(size),
        step_(step),
        length_((tiles - 1) * step + size),
        memory_(size_t(whole_vectors<float>(size * length_) + 2 * length_) * sizeof(float)),
        levels_(memory_.as<float>()),
        line_(levels_ + whole_vectors<float>(size * length_)),
        tile_(line_ + length_) {}

  // Of pixels `pitch` apart; what is behind their channels counts for nothing.
  void read(const float* pixels, int64_t pitch, int64_t channels) {
    const int64_t n = size_ * length_;
    for (int64_t at = 0; at < n; at += kLanes<float>) {
      V level[kLanes<float>];
      for (int64_t i = 0; i < kLanes<float>; ++i) {
        level[i] = (V)twice_level(pixels + std::min(at + i, n - 1) * pitch, channels);
      }
      transpose<float>(level);
      Bits most = (Bits)level[0];
      for (int i = 1; i < kLanes<float>; ++i) most = greater(most, (Bits)level[i]);
      store_vector(levels_ + at, (V)(most >> 1));
    }
  }

  // Whether every output sees a pixel that is not much less than its tile's greatest, but for those
  // that see only zeros, f(row, column), which are their bias.
  template <int Taps, class F> bool even(int64_t rows, int64_t columns, const F& f) {
    greatest(0, size_, tile_);
    for (int64_t t = 0; t < columns; t += step_) {
      std::fill_n(tile_ + t, step_, *std::max_element(tile_ + t, tile_ + t + size_) / kRange);
    }
    int below = 0;
    for (int64_t i = 0; i < rows; ++i) {
      int zeros = 0;
      greatest(i, i + Taps, line_);
      for (int64_t j = 0; j < columns; ++j) {
        float seen = line_[j];
#pragma GCC unroll 4
        for (int b = 1; b < Taps; ++b) seen = std::max(seen, line_[j + b]);
        below |= (seen < tile_[j]) & (seen != 0);
        zeros |= (seen == 0) & (tile_[j] != 0);
        line_[j] = seen;
      }
      for (int64_t j = 0; zeros && j < columns; ++j)
        if (line_[j] == 0) f(i, j);
    }
    return !below;
  }

  // The greatest level of every tile.
  void peaks(float* to) {
    greatest(0, size_, tile_);
    for (int64_t t = 0; t < tiles_; ++t)
      to[t] = *std::max_element(tile_ + t * step_, tile_ + t * step_ + size_);
  }

  // Makes those negative whose tile has a pixel that is much less, but not 0.
  void mark_apart(float* peaks) {
    std::fill_n(line_, length_, INFINITY);
    for (int64_t i = 0; i < size_; ++i) {
#pragma GCC ivdep
      for (int64_t j = 0; j < length_; ++j) {
        const float level = levels_[i * length_ + j];
        line_[j] = std::min(line_[j], level == 0 ? INFINITY : level);
      }
    }
    for (int64_t t = 0; t < tiles_; ++t) {
      const float least = *std::min_element(line_ + t * step_, line_ + t * step_ + size_);
      if (least < peaks[t] / kRange) peaks[t] = -peaks[t];
    }
  }

 private:
  // Magnitudes are in the order of their bits; without the sign's, these are twice the level's.
  using Bits = Vector<uint32_t>;
  static Bits greater(Bits a, Bits b) { return a < b ? b : a; }
  static Bits twice_level(const float* pixel, int64_t channels) {
    const int64_t whole = channels / kLanes<float> * kLanes<float>;
    Bits most{};
    for (int64_t c = 0; c < whole; c += kLanes<float>) {
      most = greater(most, (Bits)load_vector(pixel + c) << 1);
    }
    const V rest = load_part(pixel + whole, int(channels - whole));
    return greater(most, (Bits)rest << 1);
  }

  // Of rows first .. end in every column.
  void greatest(int64_t first, int64_t end, float* to) const {
    std::copy_n(levels_ + first * length_, length_, to);
    for (int64_t i = first + 1; i < end; ++i) {
#pragma GCC ivdep
      for (int64_t j = 0; j < length_; ++j) to[j] = std::max(to[j], levels_[i * length_ + j]);
    }
  }

  const int64_t tiles_, size_, step_, length_;
  const Scratch memory_;
  float *const levels_, *const line_, *const tile_;
};

}  // namespace flambeau::FLAM_TARGET
