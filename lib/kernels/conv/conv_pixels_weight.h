// The gradient by the weight over pixels: for each tap a product over positions, whose rows are the
// elements under it, whose columns are output channels, and whose operands lie as pixels. Blocks of
// positions go one after the other, so the bits are those of every number of threads; small ones go
// together, for each time all sums are read and written.
#pragma once
#include <vector>

#include "kernels/conv/conv_pixels.h"
#include "kernels/copy_run.h"

namespace flambeau::FLAM_TARGET {

template <class T> class PixelWeight {
 public:
  using C = GemmCompute<T>;
  explicit PixelWeight(const TapProduct<T>& g)
      : g_(g),
        blocks_(g, pixel_positions(g, 1 << 18)),
        window_(g, blocks_),
        columns_(whole_vectors<C>(g.rows)),
        together_(g.dim[2].count > blocks_.columns()
                      ? 1
                      : std::clamp<int64_t>(256 / (blocks_.rows() * blocks_.columns()), 1,
                                            std::max<int64_t>(1, blocks_.of_group()))),
        copy_(size_t(together_) * window_.bytes(g)),
        gradient_(size_t(together_ * gradient_size()) * sizeof(C)),
        sums_(size_t(g.channels * g.taps() * columns_) * sizeof(C)) {}

  void run() {
    const int64_t size = g_.channels * g_.taps() * columns_;
    for (int64_t group = 0; group < g_.groups; ++group) {
      std::fill(sums_.as<C>(), sums_.as<C>() + size, C(0));
      const int64_t first = group * blocks_.of_group(), end = first + blocks_.of_group();
      for (int64_t i = first; i < end; i += together_) add(i, std::min(end, i + together_));
      put(group);
    }
  }

 private:
  int64_t gradient_size() const { return blocks_.rows() * blocks_.columns() * columns_; }
  C* copy_of(int64_t k) const {
    return copy_.template as<C>() + k * int64_t(window_.bytes(g_) / sizeof(C));
  }
  C* gradient_of(int64_t k) const { return gradient_.template as<C>() + k * gradient_size(); }

  // Row k of what a block reads: the window's, then the gradient's.
  void copy_row(const TapBlock& b, int64_t k, C* copy, C* gradient) const {
    const int64_t image_rows = window_.rows(g_, b), r = k - image_rows;
    if (r < 0) return window_.copy(g_, b, copy, k, k + 1);
    const TapDim columns{b.columns, g_.out_step[2], 1, b.columns, 1, 0, 0};
    copy_pixels<T>(gradient + r * b.columns * columns_, columns_,
                   output_of(g_, b) + r * g_.out_step[1], g_.rows, g_.out_channel, columns, 0,
                   b.columns);
  }

  // Blocks of one width.
  void add(int64_t block, int64_t end_block) {
    std::vector<Segment> rows;
    const C* x = nullptr;
    SegmentArgs<C> m{};
    for (int64_t i = block; i < end_block; ++i) {
      const TapBlock b = blocks_[i];
      const int64_t all = window_.rows(g_, b) + b.rows, k = i - block;
      parallel_for(all, 1 + (1 << 14) / (b.columns * (g_.channels + 1)),
                   [&](int64_t row, int64_t end) {
                     for (; row < end; ++row) copy_row(b, row, copy_of(k), gradient_of(k));
                   });
      const C* at = window_.in_place ? window_.place(g_, b) : copy_of(k);
      if (k == 0) x = at;
      m.k = b.columns;
      for (int64_t r = 0; r < b.rows; ++r) {
        rows.push_back({at - x + r * g_.dim[1].step * window_.row,
                        k * gradient_size() + r * b.columns * columns_});
      }
    }
    m.a_depth = g_.dim[2].step * window_.pixel;
    m.b_depth = m.out_row = m.init_row = columns_;
    m.segment = rows.data();
    m.segments = int64_t(rows.size());
    const int64_t strips = (g_.rows + kMicroColumns<C> - 1) / kMicroColumns<C>;
    const int64_t taps = int64_t(window_.taps.size());
    const int64_t work = window_.length * kMicroColumns<C> * (m.segments * m.k + 1);
    parallel_for(taps * strips, 1 + (1 << 17) / (work + 1), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) tap(x, m, i % taps, i / taps * kMicroColumns<C>);
    });
  }

  void tap(const C* x, SegmentArgs<C> m, int64_t tap, int64_t first) const {
    const Strip<C> strip(columns_ - first);
    m.b = gradient_.template as<C>() + first;
    m.last = strip.last;
    for_tiles(window_.length, [&](int64_t at, int64_t height) {
      m.a = x + window_.taps[size_t(tap)] + at;
      m.out = sums_.template as<C>() + (tap * window_.length + at) * columns_ + first;
      m.init = m.out;
      run_segments<C, false>(height, m, strip.vectors);
    });
  }

  // Rows of the weight may lie a multiple of a page apart, of which the cache holds few at once: so
  // the elements of several channels are put together for each row before they go there.
  void put(int64_t group) const {
    const int64_t taps = g_.taps(), strips = columns_ / kLanes<C>;
    const int64_t channels = std::clamp<int64_t>(kTogether / taps, 1, g_.channels);
    const int64_t runs = (g_.channels + channels - 1) / channels;
    parallel_for(runs * strips, 1 + (1 << 10) / (channels * taps), [&](int64_t i, int64_t end) {
      std::vector<T> rows(size_t(kLanes<C> * channels * taps));
      for (; i < end; ++i) {
        const int64_t first = i % runs * channels, row = i / runs * kLanes<C>;
        const int64_t n = std::min(channels, g_.channels - first);
        collect(first, n, row, rows.data());
        const int64_t lanes = std::min<int64_t>(kLanes<C>, g_.rows - row);
        T* out = g_.w + group * g_.w_group + row * g_.w_row + first * g_.w_channel;
        for (int64_t l = 0; l < lanes; ++l)
          put_row(rows.data() + l * n * taps, n, out + l * g_.w_row);
      }
    });
  }

  // Of kLanes rows from `row` on, each as [channels, taps].
  void collect(int64_t first, int64_t channels, int64_t row, T* to) const {
    const int64_t taps = g_.taps(), length = channels * taps;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t t = 0; t < taps; ++t) {
        const C* from = sums_.template as<C>() + (t * g_.channels + first + c) * columns_ + row;
        for (int64_t l = 0; l < kLanes<C>; ++l)
          to[l * length + c * taps + t] = gemm_finish<T>(from[l], Activation::none);
      }
    }
  }

  void put_row(const T* from, int64_t channels, T* to) const {
    const int64_t taps = g_.taps();
    const bool dense = taps_dense() && g_.w_channel == taps;
    if (dense)
      return copy_run(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from),
                      channels * taps * int64_t(sizeof(T)));
    for (int64_t t = 0; t < taps; ++t) {
      T* at = to + g_.tap_offset(t);
      for (int64_t c = 0; c < channels; ++c) at[c * g_.w_channel] = from[c * taps + t];
    }
  }

  bool taps_dense() const {
    int64_t length = 1;
    bool dense = true;
    for (int d = kConvDims; d-- > 0; length *= g_.dim[d].taps)
      dense = dense && (g_.dim[d].taps == 1 || g_.w_tap[d] == length);
    return dense;
  }

  static constexpr int64_t kTogether = 256;  // elements of a row of the weight

  const TapProduct<T>& g_;
  const TapBlocks<T> blocks_;
  const PixelWindow<T> window_;
  const int64_t columns_, together_;
  const Scratch copy_, gradient_, sums_;
};

}  // namespace flambeau::FLAM_TARGET
