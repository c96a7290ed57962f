// The taps of a convolution as Winograd's product reads them: transformed, for a strip of outputs,
// place by place [channels, outputs]. A vector is as many outputs, whose taps lie far apart, so
// they are turned in registers, some channels at a time.
#pragma once
#include <algorithm>

#include "kernels/conv/conv_winograd.h"

namespace flambeau::FLAM_TARGET {

template <class T, int Taps> class WinogradTaps {
 public:
  explicit WinogradTaps(const TapProduct<T>& g) : g_(g) {}

  // Channels c .. end of a strip whose rows are `pitch` wide; `place` is from place to place.
  void transform(int64_t group, int64_t c, int64_t end, int64_t first, int pitch, float* to,
                 int64_t place) const {
    alignas(64) float turned[kFew * kAll * kWidth];
    const bool back = g_.w_tap[2] < 0;
    for (; c < end; c += kFew, to += kFew * pitch) {
      const int64_t count = std::min(kFew, end - c);
      for (int v = 0; v < pitch; v += kWidth) {
        turn(group, c, count, first + v, turned);
        for (int64_t i = 0; i < count; ++i)
          transform_one(turned + i * kAll * kWidth, back, to + i * pitch + v, place);
      }
    }
  }

 private:
  using V = Vector<float>;
  static constexpr int kWidth = kLanes<float>, kAll = Taps * Taps;
  static constexpr int64_t kFew = 8;

  static void transform_one(const float* from, bool back, float* to, int64_t place) {
    along_both<V, Taps, kTile>(
        [&](int i, int j) {
          const int t = i * Taps + j;
          return load_vector(from + (back ? kAll - 1 - t : t) * kWidth);
        },
        [&](int i, int j, V v) { store_vector(to + (i * kTile + j) * place, v); },
        [](const V(&x)[Taps], V(&y)[kTile]) { winograd_taps(x, y); });
  }

  // Of a vector of rows from `row` on [channels, taps, rows], as they lie: backwards where steps
  // between taps are negative.
  void turn(int64_t group, int64_t c, int64_t channels, int64_t row, float* to) const {
    const int rows = int(std::min<int64_t>(kWidth, g_.rows - row));
    const int64_t down = g_.w_tap[1], across = g_.w_tap[2];
    const bool back = across < 0;
    const T* from = g_.w + group * g_.w_group + row * g_.w_row + c * g_.w_channel;
    if (back) from += (Taps - 1) * (down + across);
    if ((across == 1 || across == -1) && down == Taps * across) {
      const bool run = g_.w_channel == kAll;
      const int64_t length = run ? channels * kAll : kAll;
      for (int64_t i = 0; i < (run ? 1 : channels); ++i, to += kAll * kWidth, from += g_.w_channel)
        pack_strip<T>(to, kWidth, {from, g_.w_row, 1}, length, rows, kWidth);
      return;
    }
    for (int64_t i = 0; i < channels * kAll; ++i, to += kWidth) {
      const int64_t t = i % kAll, at = t / Taps * down + t % Taps * across;
      const T* tap = from + i / kAll * g_.w_channel + (back ? -at : at);
      for (int l = 0; l < kWidth; ++l) to[l] = l < rows ? gemm_load(tap + l * g_.w_row) : 0.0f;
    }
  }

  const TapProduct<T>& g_;
};

}  // namespace flambeau::FLAM_TARGET
