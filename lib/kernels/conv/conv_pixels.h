// The convolution over pixels, whose channels lie together: vectors go along output channels, and a
// tile's rows are neighbouring positions, so no stride, kernel or width leaves lanes idle. An image
// that lies so and has no padding is read in place; of others a block's window is copied. A pixel
// consists of elements E: channels in the arithmetic type, or pairs of channels in bfloat16.
#pragma once
#include <vector>

#include "kernels/conv/conv_pixel.h"

namespace flambeau::FLAM_TARGET {

// How the window of a block lies: strides between pixels, rows and depths.
template <class T, class E = GemmCompute<T>> struct PixelWindow {
  bool in_place;
  int64_t pixel, row, depth;
  std::vector<int64_t> taps;  // where each run of `length` elements under the taps starts
  int64_t length;

  // Rows a power of two apart would share few places of the first-level cache.
  static bool crowded(int64_t stride) { return stride * int64_t(sizeof(E)) % 2048 == 0; }

  PixelWindow(const TapProduct<T>& g, const TapBlocks<T>& blocks) {
    const TapDim &dd = g.dim[0], &dh = g.dim[1], &dw = g.dim[2];
    const int64_t elements = elements_of<E>(g.channels);
    constexpr int64_t each = int64_t(sizeof(E) / sizeof(T));  // of an element, where in place
    in_place = holds_pixels<E>(g) && g.inside() && !crowded(dw.stride / each * dw.step);
    pixel = in_place ? dw.stride / each : elements + (crowded(elements * dw.step) ? 16 : 0);
    row = in_place ? dh.stride / each : pixel * dw.length(blocks.columns());
    depth = in_place ? dd.stride / each * dd.delta : row * dh.length(blocks.rows());
    const bool runs = pixel == elements && dw.delta == 1;
    length = runs ? dw.taps * elements : elements;
    for (int64_t td = 0; td < dd.taps; ++td) {
      for (int64_t th = 0; th < dh.taps; ++th) {
        for (int64_t tw = 0; tw < (runs ? std::min<int64_t>(1, dw.taps) : dw.taps); ++tw)
          taps.push_back(td * depth + th * dh.delta * row + tw * dw.delta * pixel);
      }
    }
  }
  size_t bytes(const TapProduct<T>& g) const {
    return in_place ? 0 : size_t(g.dim[0].taps * depth) * sizeof(E);
  }
  int64_t rows(const TapProduct<T>& g, const TapBlock& b) const {
    return in_place ? 0 : g.dim[0].taps * g.dim[1].length(b.rows);
  }
  const E* place(const TapProduct<T>& g, const TapBlock& b) const {
    const TapDim &dd = g.dim[0], &dh = g.dim[1], &dw = g.dim[2];
    return reinterpret_cast<const E*>(image_of(g, b) + dd.start(b.depth) * dd.stride +
                                      dh.start(b.row) * dh.stride + dw.start(b.column) * dw.stride);
  }
  // Rows k .. end of the copy. Blocks at an edge have fewer rows, so each has its own depth.
  void copy(const TapProduct<T>& g, const TapBlock& b, E* to, int64_t k, int64_t end) const {
    const int64_t height = g.dim[1].length(b.rows);
    for_window_rows(g, b, image_of(g, b), k, end, [&](int64_t i, const T* from) {
      copy_pixels<T>(to + i / height * depth + i % height * row, pixel, from, g.channels,
                     g.x_channel, g.dim[2], g.dim[2].start(b.column), g.dim[2].length(b.columns));
    });
  }
};

// Positions of a block: its window stays in the second-level cache.
template <class T, class E = GemmCompute<T>>
int64_t pixel_positions(const TapProduct<T>& g, int64_t bytes) {
  const int64_t one =
      elements_of<E>(g.channels) * g.dim[1].step * g.dim[2].step * int64_t(sizeof(E));
  return std::clamp<int64_t>(bytes / std::max<int64_t>(1, one), 4 * kMicroRows, 64 * kMicroRows);
}

template <class T, class E = GemmCompute<T>> class PixelProduct {
 public:
  using C = Sum<E>;
  static_assert(sizeof(E) == sizeof(C));
  explicit PixelProduct(const TapProduct<T>& g)
      : g_(g),
        blocks_(g, pixel_positions<T, E>(g, 1 << 17)),
        window_(g, blocks_),
        k_(elements_of<E>(g.channels) * g.taps()),
        columns_(whole_vectors<C>(g.rows)),
        packed_(size_t(g.groups * columns_ * (k_ + 1)) * sizeof(C)),
        bias_(packed_.template as<C>() + g.groups * columns_ * k_) {
    const int64_t last = (g.rows - 1) % kMicroColumns<C> + 1;
    for (size_t s = 0; s < window_.taps.size(); ++s) {
      const int64_t k = int64_t(s) * window_.length;
      full_.push_back({window_.taps[s], k * kMicroColumns<C>});
      last_.push_back({window_.taps[s], k * whole_vectors<C>(last)});
    }
  }

  void run() {
    const int64_t strips = (g_.rows + kMicroColumns<C> - 1) / kMicroColumns<C>;
    parallel_for(g_.groups * strips, 1 + (1 << 14) / (kMicroColumns<C> * (k_ + 1)),
                 [&](int64_t i, int64_t end) {
                   for (; i < end; ++i) pack(i / strips, i % strips * kMicroColumns<C>);
                 });
    const int64_t work = blocks_.rows() * blocks_.columns() * g_.rows * (k_ + 1);
    parallel_for(blocks_.count(), 1 + (1 << 18) / work, [&](int64_t i, int64_t end) {
      const Scratch copy(window_.bytes(g_)),
          sums(direct() ? 0
                        : size_t(sums_rows() * blocks_.columns()) * kMicroColumns<C> * sizeof(C));
      for (; i < end; ++i) block(blocks_[i], copy.as<E>(), sums.as<C>());
    });
  }

 private:
  bool direct() const { return std::is_same_v<T, C> && g_.out_channel == 1; }
  bool dense() const { return g_.out_step[1] == blocks_.columns() * g_.out_step[2]; }
  // Short rows are put together where they lie one after the other.
  int64_t sums_rows() const {
    return dense() ? std::max<int64_t>(1, std::min(blocks_.rows(), 64 / blocks_.columns())) : 1;
  }

  void pack(int64_t group, int64_t first) {
    const Strip<C> strip(g_.rows - first);
    const int64_t taps = g_.taps(), pitch = strip.padded();
    const int64_t elements = elements_of<E>(g_.channels);
    E* to = packed_.template as<E>() + (group * columns_ + first) * k_;
    const T* w = g_.w + group * g_.w_group + first * g_.w_row;
    for (int64_t c = 0; c < elements; ++c) {
      const ChannelsAt<T, E> channels(g_.channels, g_.w_channel, c);
      for (int64_t t = 0; t < taps; ++t) {
        const T* from = w + g_.tap_offset(t);
        E* line = to + (t * elements + c) * pitch;
        for (int r = 0; r < strip.width; ++r) line[r] = channels.load(from + r * g_.w_row);
        std::fill(line + strip.width, line + pitch, E(0));
      }
    }
    if (first == 0) load_bias(g_, group, bias_ + group * columns_);
  }

  void block(const TapBlock& b, E* copy, C* sums) const {
    if (!window_.in_place) window_.copy(g_, b, copy, 0, window_.rows(g_, b));
    const E* x = window_.in_place ? window_.place(g_, b) : copy;
    for (int64_t first = 0; first < g_.rows; first += kMicroColumns<C>) {
      T* out = output_of(g_, b) + first * g_.out_channel;
      for (int64_t row = 0; row < b.rows; row += sums_rows()) {
        rows(b, x + row * g_.dim[1].step * window_.row, out + row * g_.out_step[1],
             std::min(sums_rows(), b.rows - row), first, sums);
      }
    }
  }

  // One strip of channels of some rows of positions.
  void rows(const TapBlock& b, const E* x, T* out, int64_t count, int64_t first, C* sums) const {
    const Strip<C> strip(g_.rows - first);
    SegmentArgs<E> m{};
    m.k = window_.length;
    m.a_row = g_.dim[2].step * window_.pixel;
    m.b = packed_.template as<E>() + (b.group * columns_ + first) * k_;
    m.b_depth = strip.padded();
    m.init = bias_ + b.group * columns_ + first;
    m.relu = std::is_same_v<T, C> && g_.activation == Activation::relu;
    m.last = strip.last;
    m.segment = (strip.padded() == kMicroColumns<C> ? full_ : last_).data();
    m.segments = int64_t(full_.size());
    m.out_row = direct() ? g_.out_step[2] : strip.padded();
    for (int64_t row = 0; row < count; ++row) {
      for_tiles(b.columns, [&](int64_t at, int64_t height) {
        m.a = x + row * g_.dim[1].step * window_.row + at * m.a_row;
        m.out = direct() ? reinterpret_cast<C*>(out) + row * g_.out_step[1] + at * m.out_row
                         : sums + (row * b.columns + at) * m.out_row;
        run_segments<E, true>(height, m, strip.vectors);
      });
    }
    if (!direct()) {
      put_pixels<T, E>(out, g_.out_channel, g_.out_step[2], sums, m.out_row, strip.width,
                       count * b.columns, g_.activation);
    }
  }

  const TapProduct<T>& g_;
  const TapBlocks<T> blocks_;
  const PixelWindow<T, E> window_;
  const int64_t k_, columns_;
  const Scratch packed_;
  C* const bias_;
  std::vector<Segment> full_, last_;  // of a strip of all columns, and of the last one's
};

}  // namespace flambeau::FLAM_TARGET
