// The convolution over planes, for groups of few output channels: vectors go along a row of
// positions. A block's window is copied once, padded; where positions are several
// elements apart, each row of it as its phases, so that neighbouring positions stay neighbours.
#pragma once
#include <vector>

#include "kernels/conv/conv_taps.h"
#include "kernels/conv/conv_tile.h"

namespace flambeau::FLAM_TARGET {

template <class C, size_t... I>
FLAM_FN Vector<C> even_lanes(Vector<C> a, Vector<C> b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, int(2 * I)...);
}

// to[i] = from[i * step]; may read and write a vector beyond the end.
template <class C> void pick_every(C* to, const C* from, int64_t step, int64_t n) {
  int64_t i = 0;
  for (; step == 2 && i < n; i += kLanes<C>) {
    store_vector<C>(to + i,
                    even_lanes<C>(load_vector(from + 2 * i), load_vector(from + 2 * i + kLanes<C>),
                                  std::make_index_sequence<size_t(kLanes<C>)>{}));
  }
  for (; i < n; ++i) to[i] = from[i * step];
}

template <class T> struct PlaneWindow {
  using C = GemmCompute<T>;
  int64_t phase, row, depth, channel;  // strides
  std::vector<int64_t> taps;           // of all channels

  PlaneWindow(const TapProduct<T>& g, const TapBlocks<T>& blocks) {
    const TapDim &dd = g.dim[0], &dh = g.dim[1], &dw = g.dim[2];
    phase = (dw.length(blocks.columns()) + dw.step - 1) / dw.step;
    row = phase * dw.step;
    depth = row * dh.length(blocks.rows());
    channel = depth * dd.taps;
    for (int64_t c = 0; c < g.channels; ++c) {
      for (int64_t td = 0; td < dd.taps; ++td) {
        for (int64_t th = 0; th < dh.taps; ++th) {
          for (int64_t tw = 0; tw < dw.taps; ++tw) {
            const int64_t at = tw * dw.delta;
            taps.push_back(c * channel + td * depth + th * dh.delta * row + at % dw.step * phase +
                           at / dw.step);
          }
        }
      }
    }
  }
  // With what vectors at the end of the last row read beyond it, and a line to work with.
  size_t bytes(const TapProduct<T>& g) const {
    return size_t(g.channels * channel + row + 3 * kMicroColumns<C>) * sizeof(C);
  }

  void copy(const TapProduct<T>& g, const TapBlock& b, C* to) const {
    const TapDim& dw = g.dim[2];
    const int64_t height = g.dim[1].length(b.rows), length = dw.length(b.columns);
    C* const line = to + g.channels * channel + kMicroColumns<C>;  // behind the slack
    std::fill(line - kMicroColumns<C>, line + row + 2 * kMicroColumns<C>, C(0));
    for (int64_t c = 0; c < g.channels; ++c) {
      C* at = to + c * channel;
      for_window_rows(g, b, image_of(g, b) + c * g.x_channel, 0, g.dim[0].taps * height,
                      [&](int64_t, const T* from) {
                        copy_line(dw.step == 1 ? at : line, from, dw, dw.start(b.column), length);
                        for (int64_t p = 0; dw.step > 1 && p < dw.step; ++p)
                          pick_every(at + p * phase, line + p, dw.step, phase);
                        at += row;
                      });
    }
  }

 private:
  // Writes whole vectors: what is behind the line is written after it, or is the end's slack.
  static void copy_line(C* to, const T* row, const TapDim& d, int64_t at, int64_t length) {
    RowCut cut(d, at, length);
    if (!row) cut.low = cut.high = 0;
    for (int64_t i = 0; i < cut.low; i += kLanes<C>) store_vector<C>(to + i, Vector<C>{});
    const T* from = row + (at + cut.low) * d.stride;
    int64_t i = cut.low;
    for (; i < cut.high; i += kLanes<C>, from += kLanes<C> * d.stride) {
      const int n = int(std::min<int64_t>(kLanes<C>, cut.high - i));
      if (d.stride == 1) {
        store_vector<C>(to + i, n == kLanes<C> ? load_as(from) : load_part_as(from, n));
      } else {
        C lanes[kLanes<C>] = {};
        for (int l = 0; l < n; ++l) lanes[l] = gemm_load(from + l * d.stride);
        store_vector<C>(to + i, load_vector(lanes));
      }
    }
    for (; i < length; i += kLanes<C>) store_vector<C>(to + i, Vector<C>{});
  }
};

template <class T> class PlaneProduct {
 public:
  using C = GemmCompute<T>;
  // Whether fewer lanes are idle than of vectors along output channels.
  static bool suits(const TapProduct<T>& g) {
    const int64_t width = g.dim[2].count;
    return g.rows <= kMicroRows &&
           g.rows * whole_vectors<C>(width) < whole_vectors<C>(g.rows) * width;
  }

  explicit PlaneProduct(const TapProduct<T>& g)
      : g_(g),
        blocks_(g, positions(g)),
        window_(g, blocks_),
        k_(g.channels * g.taps()),
        packed_(size_t(g.groups * (g.rows * k_ + whole_vectors<C>(g.rows))) * sizeof(C)),
        bias_(packed_.template as<C>() + g.groups * g.rows * k_) {
    for (int64_t s = 0; s < k_; ++s) segments_.push_back({s * g.rows, window_.taps[size_t(s)]});
  }

  void run() {
    for (int64_t group = 0; group < g_.groups; ++group) pack(group);
    const int64_t work = blocks_.rows() * blocks_.columns() * (g_.rows * k_ + g_.channels + 1);
    parallel_for(blocks_.count(), 1 + (1 << 18) / work, [&](int64_t i, int64_t end) {
      const Scratch copy(window_.bytes(g_));
      for (; i < end; ++i) block(blocks_[i], copy.as<C>());
    });
  }

 private:
  static int64_t positions(const TapProduct<T>& g) {
    const int64_t one = g.channels * g.dim[1].step * g.dim[2].step * int64_t(sizeof(C));
    return std::max<int64_t>(16 * kMicroColumns<C>, (1 << 17) / std::max<int64_t>(1, one));
  }
  bool direct() const { return std::is_same_v<T, C> && g_.out_step[2] == 1; }

  void pack(int64_t group) {
    C* to = packed_.template as<C>() + group * g_.rows * k_;
    for (int64_t s = 0; s < k_; ++s) {
      const T* w =
          g_.w + group * g_.w_group + s / g_.taps() * g_.w_channel + g_.tap_offset(s % g_.taps());
      for (int64_t r = 0; r < g_.rows; ++r) to[s * g_.rows + r] = gemm_load(w + r * g_.w_row);
    }
    load_bias(g_, group, bias_ + group * whole_vectors<C>(g_.rows));
  }

  void block(const TapBlock& b, C* copy) const {
    window_.copy(g_, b, copy);
    SegmentArgs<C> m{};
    m.k = 1;
    m.a = packed_.template as<C>() + b.group * g_.rows * k_;
    m.segment = segments_.data();
    m.segments = k_;
    m.init = bias_ + b.group * whole_vectors<C>(g_.rows);
    m.init_row = 1;
    m.init_column = true;
    m.relu = std::is_same_v<T, C> && g_.activation == Activation::relu;
    for (int64_t row = 0; row < b.rows; ++row) {
      for (int64_t at = 0; at < b.columns; at += kMicroColumns<C>) {
        const Strip<C> strip(b.columns - at);
        m.b = copy + row * g_.dim[1].step * window_.row + at;
        m.last = strip.last;
        strip_of_row(m, output_of(g_, b) + row * g_.out_step[1] + at * g_.out_step[2], strip);
      }
    }
  }

  // Through a buffer where the output is no row of the arithmetic type.
  void strip_of_row(SegmentArgs<C>& m, T* out, const Strip<C>& strip) const {
    alignas(64) C sums[kMicroRows * kMicroColumns<C>];
    m.out = direct() ? reinterpret_cast<C*>(out) : sums;
    m.out_row = direct() ? g_.out_channel : kMicroColumns<C>;
    run_segments<C, false>(g_.rows, m, strip.vectors);
    for (int64_t i = 0; !direct() && i < g_.rows; ++i) {
      for (int j = 0; j < strip.width; ++j)
        out[i * g_.out_channel + j * g_.out_step[2]] =
            gemm_finish<T>(sums[i * kMicroColumns<C> + j], g_.activation);
    }
  }

  const TapProduct<T>& g_;
  const TapBlocks<T> blocks_;
  const PlaneWindow<T> window_;
  const int64_t k_;
  const Scratch packed_;
  C* const bias_;
  std::vector<Segment> segments_;
};

}  // namespace flambeau::FLAM_TARGET
