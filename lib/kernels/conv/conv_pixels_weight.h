// The gradient by the weight over pixels: for each tap a product over positions, whose rows are the
// elements under it, whose columns are output channels, and whose operands lie as pixels. Blocks of
// positions go one after the other, so each sum is one chain for every number of threads.
#pragma once
#include "kernels/conv/conv_pixels.h"

namespace flambeau::FLAM_TARGET {

template <class T> class PixelWeight {
 public:
  using C = GemmCompute<T>;
  explicit PixelWeight(const TapProduct<T>& g)
      : g_(g),
        blocks_(g, pixel_positions(g, 1 << 18)),
        window_(g, blocks_),
        columns_(whole_vectors<C>(g.rows)),
        copy_(window_.bytes(g)),
        gradient_(size_t(blocks_.rows() * blocks_.columns() * columns_) * sizeof(C)),
        sums_(size_t(g.channels * g.taps() * columns_) * sizeof(C)) {}

  void run() {
    const int64_t size = g_.channels * g_.taps() * columns_;
    for (int64_t group = 0; group < g_.groups; ++group) {
      std::fill(sums_.as<C>(), sums_.as<C>() + size, C(0));
      for (int64_t i = 0; i < blocks_.of_group(); ++i) add(blocks_[group * blocks_.of_group() + i]);
      put(group);
    }
  }

 private:
  void add(const TapBlock& b) {
    const int64_t image_rows = window_.rows(g_, b), all = image_rows + b.rows;
    const TapDim columns{b.columns, g_.out_step[2], 1, b.columns, 1, 0, 0};
    parallel_for(all, 1 + (1 << 14) / (b.columns * (g_.channels + 1)), [&](int64_t k, int64_t end) {
      window_.copy(g_, b, copy_.as<C>(), std::min(k, image_rows), std::min(end, image_rows));
      for (int64_t r = std::max(k, image_rows) - image_rows; r < end - image_rows; ++r) {
        copy_pixels<T>(gradient_.as<C>() + r * b.columns * columns_, columns_,
                       output_of(g_, b) + r * g_.out_step[1], g_.rows, g_.out_channel, columns, 0,
                       b.columns);
      }
    });
    SegmentArgs<C> m{};
    m.k = b.columns;
    m.a_depth = g_.dim[2].step * window_.pixel;
    m.b_depth = m.out_row = m.init_row = columns_;
    std::vector<Segment> rows;
    for (int64_t r = 0; r < b.rows; ++r)
      rows.push_back({r * g_.dim[1].step * window_.row, r * b.columns * columns_});
    m.segment = rows.data();
    m.segments = b.rows;
    const int64_t strips = (g_.rows + kMicroColumns<C> - 1) / kMicroColumns<C>;
    const int64_t taps = int64_t(window_.taps.size());
    const int64_t work = window_.length * kMicroColumns<C> * (b.rows * b.columns + 1);
    parallel_for(taps * strips, 1 + (1 << 17) / (work + 1), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) tap(b, m, i % taps, i / taps * kMicroColumns<C>);
    });
  }

  void tap(const TapBlock& b, SegmentArgs<C> m, int64_t tap, int64_t first) const {
    const Strip<C> strip(columns_ - first);
    const C* x = window_.in_place ? window_.place(g_, b) : copy_.as<C>();
    m.b = gradient_.as<C>() + first;
    m.last = strip.last;
    for_tiles(window_.length, [&](int64_t at, int64_t height) {
      m.a = x + window_.taps[size_t(tap)] + at;
      m.out = sums_.as<C>() + (tap * window_.length + at) * columns_ + first;
      m.init = m.out;
      run_segments<C, false>(height, m, strip.vectors);
    });
  }

  void put(int64_t group) const {
    const int64_t taps = g_.taps();
    T* out = g_.w + group * g_.w_group;
    parallel_for(g_.rows, 1 + (1 << 14) / (taps * g_.channels + 1), [&](int64_t r, int64_t end) {
      for (; r < end; ++r) {
        for (int64_t c = 0; c < g_.channels; ++c) {
          for (int64_t t = 0; t < taps; ++t) {
            out[r * g_.w_row + c * g_.w_channel + g_.tap_offset(t)] = gemm_finish<T>(
                sums_.as<C>()[(t * g_.channels + c) * columns_ + r], Activation::none);
          }
        }
      }
    });
  }

  const TapProduct<T>& g_;
  const TapBlocks<T> blocks_;
  const PixelWindow<T> window_;
  const int64_t columns_;
  const Scratch copy_, gradient_, sums_;
};

}  // namespace flambeau::FLAM_TARGET
