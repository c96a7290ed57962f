// The convolution over planes: vectors go along a row of positions, so groups may have few output
// channels, and nothing is turned. A block's window is copied once, padded; where positions are
// several elements apart, each row of it as its phases, so that neighbours stay neighbours.
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
  int64_t lead;                        // brings the first column onto a vector's place
  int64_t phase, row, depth, channel;  // strides
  std::vector<int64_t> taps;           // of all channels

  PlaneWindow(const TapProduct<T>& g, const TapBlocks<T>& blocks) {
    const TapDim &dd = g.dim[0], &dh = g.dim[1], &dw = g.dim[2];
    // Behind a row are zeros for the lanes of the last vector, which some products do not spare.
    const int64_t read =
        whole_vectors<C>(blocks.columns()) + (dw.taps - 1) * dw.delta / dw.step + 1;
    lead = dw.step == 1 ? (dw.first % kLanes<C> + kLanes<C>) % kLanes<C> : 0;
    phase = whole_vectors<C>(read);
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
  // With what vectors at the end of the last row touch beyond it, and a line to work with.
  size_t bytes(const TapProduct<T>& g) const {
    return size_t(lead + g.channels * channel + row + 3 * kMicroColumns<C>) * sizeof(C);
  }

  // Returns where the window starts. What is outside of the image stays zero from the block before,
  // if that was at the same place of its image.
  const C* copy(const TapProduct<T>& g, const TapBlock& b, C* to, const TapBlock* before) const {
    const TapDim dw = g.dim[2];
    const RowCut cut(dw, dw.start(b.column), dw.length(b.columns));
    const int64_t skip = (dw.start(b.column) + cut.low) * dw.stride, n = cut.high - cut.low;
    const int64_t rows = g.dim[0].taps * g.dim[1].length(b.rows), next = row;
    if (!before || !before->same_place(b)) std::fill(to, to + bytes(g) / sizeof(C), C(0));
    for (int64_t c = 0; c < g.channels; ++c) {
      C* const at = to + lead + c * channel;
      const T* image = image_of(g, b) + c * g.x_channel;
      if (dw.step == 1) {
        for_window_rows(g, b, image, 0, rows, [=](int64_t k, const T* from) {
          if (from) copy_line(at + k * next + cut.low, from + skip, dw.stride, n);
        });
        continue;
      }
      C* const line = to + lead + g.channels * channel + kMicroColumns<C>;
      for_window_rows(g, b, image, 0, rows, [=, this](int64_t k, const T* from) {
        if (!from) return;
        copy_line(line + cut.low, from + skip, dw.stride, n);
        for (int64_t p = 0; p < dw.step; ++p)
          pick_every(at + k * next + p * phase, line + p, dw.step, phase);
      });
    }
    return to + lead;
  }

 private:
  // Whole vectors: what is behind the line is zero, or written after it.
  static void copy_line(C* to, const T* from, int64_t stride, int64_t n) {
    int64_t i = 0;
    if (stride == 1) {
      for (; i + kLanes<C> <= n; i += kLanes<C>) store_vector<C>(to + i, load_wide(from + i));
      if (i < n) store_vector<C>(to + i, load_part_as(from + i, int(n - i)));
    } else {
      for (; i < n; ++i) to[i] = gemm_load(from + i * stride);
    }
  }
};

template <class T> class PlaneProduct {
 public:
  using C = GemmCompute<T>;
  // Against pixels: cycles of an output's products, with what lanes stay idle, and of the elements
  // that must be turned for it, or be picked one by one.
  static bool suits(const TapProduct<T>& g) {
    auto products = [&](int64_t n) {
      const double idle = double(whole_vectors<C>(n)) / double(n);
      return double(g.channels * g.taps()) / kLanes<C> * idle;
    };
    const double read = double(g.channels * g.dim[1].step * g.dim[2].step) / double(g.rows);
    // Steps of one vector take longer than half of one of two, for each begins a run of its own.
    const double lonely = g.dim[2].count <= kLanes<C> ? 1.3 : 1;
    const double turned = 0.5 * (g.x_channel != 1) * read + 0.5 * (g.out_channel != 1);
    const double picked = (g.dim[2].stride != 1) * read + (g.out_step[2] != 1);
    return lonely * products(g.dim[2].count) + picked < products(g.rows) + turned;
  }

  explicit PlaneProduct(const TapProduct<T>& g)
      : g_(g),
        blocks_(g, positions(g)),
        window_(g, blocks_),
        k_(g.channels * g.taps()),
        packed_(size_t(g.groups * (g.rows * k_ + whole_vectors<C>(g.rows))) * sizeof(C)),
        bias_(packed_.template as<C>() + g.groups * g.rows * k_) {
    for_tiles(g.rows, [&](int64_t, int64_t height) {
      std::vector<Segment>& s = segments_[height % 2];
      if (!s.empty()) return;
      for (int64_t k = 0; k < k_; ++k) s.push_back({k * height, window_.taps[size_t(k)]});
    });
  }

  void run() {
    for (int64_t group = 0; group < g_.groups; ++group) pack(group);
    const int64_t work = blocks_.rows() * blocks_.columns() * (g_.rows * k_ + g_.channels + 1);
    parallel_for(blocks_.count(), 1 + (1 << 18) / work, [&](int64_t i, int64_t end) {
      const Scratch copy(window_.bytes(g_));
      for (int64_t k = i; k < end; ++k) {
        const TapBlock b = blocks_[k], before = blocks_[std::max(i, k - 1)];
        block(b, window_.copy(g_, b, copy.as<C>(), k == i ? nullptr : &before));
      }
    });
  }

 private:
  static int64_t positions(const TapProduct<T>& g) {
    const int64_t one = g.channels * g.dim[1].step * g.dim[2].step * int64_t(sizeof(C));
    return std::max<int64_t>(16 * kMicroColumns<C>, (1 << 17) / std::max<int64_t>(1, one));
  }
  bool direct() const { return std::is_same_v<T, C> && g_.out_step[2] == 1; }

  // Tile by tile of rows.
  void pack(int64_t group) {
    C* to = packed_.template as<C>() + group * g_.rows * k_;
    for_tiles(g_.rows, [&](int64_t first, int64_t height) {
      for (int64_t s = 0; s < k_; ++s) {
        const T* w = g_.w + group * g_.w_group + first * g_.w_row + s / g_.taps() * g_.w_channel +
                     g_.tap_offset(s % g_.taps());
        for (int64_t r = 0; r < height; ++r) *to++ = gemm_load(w + r * g_.w_row);
      }
    });
    load_bias(g_, group, bias_ + group * whole_vectors<C>(g_.rows));
  }

  void block(const TapBlock& b, const C* x) const {
    SegmentArgs<C> m{};
    m.k = 1;
    m.segments = k_;
    m.init_row = 1;
    m.init_column = true;
    m.relu = std::is_same_v<T, C> && g_.activation == Activation::relu;
    for_tiles(g_.rows, [&](int64_t first, int64_t height) {
      m.a = packed_.template as<C>() + (b.group * g_.rows + first) * k_;
      m.init = bias_ + b.group * whole_vectors<C>(g_.rows) + first;
      m.segment = segments_[height % 2].data();
      T* out = output_of(g_, b) + first * g_.out_channel;
      for (int64_t row = 0; row < b.rows; ++row) {
        for (int64_t at = 0; at < b.columns; at += kMicroColumns<C>) {
          const Strip<C> strip(b.columns - at);
          m.b = x + row * g_.dim[1].step * window_.row + at;
          m.last = strip.last;
          tile(m, height, out + row * g_.out_step[1] + at * g_.out_step[2], strip);
        }
      }
    });
  }

  // Through a buffer where the output is no row of the arithmetic type.
  void tile(SegmentArgs<C>& m, int64_t height, T* out, const Strip<C>& strip) const {
    alignas(64) C sums[kMicroRows * kMicroColumns<C>];
    m.out = direct() ? reinterpret_cast<C*>(out) : sums;
    m.out_row = direct() ? g_.out_channel : kMicroColumns<C>;
    run_segments<C, false>(height, m, strip.vectors);
    for (int64_t i = 0; !direct() && i < height; ++i) {
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
  std::vector<Segment> segments_[2];  // by the parity of a tile's height: there are two at most
};

}  // namespace flambeau::FLAM_TARGET
