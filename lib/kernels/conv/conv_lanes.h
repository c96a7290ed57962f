// Depthwise convolutions and their like, forward, backward by data and by weight: groups of a
// channel or a few. Neighbouring groups are the lanes of a vector, so that all that is loaded is
// whole and aligned; images whose channels lie together come in and go out without a transpose.
#pragma once
#include "kernels/conv/conv_pixels.h"

namespace flambeau::FLAM_TARGET {

// out[i] = init + the sum over segments of a[s] * b[segment s + i * b_depth], lane by lane.
template <class C, int Positions> void lane_micro(const SegmentArgs<C>& g) {
  Vector<C> sum[Positions];
#pragma GCC unroll 16
  for (int i = 0; i < Positions; ++i) sum[i] = load_vector(g.init);
  for (int64_t s = 0; s < g.segments; ++s) {
    const Vector<C> w = load_vector(g.a + s * kLanes<C>);
    const C* x = g.b + g.segment[s].b;
#pragma GCC unroll 16
    for (int i = 0; i < Positions; ++i)
      sum[i] = multiply_add<C>(w, load_vector(x + i * g.b_depth), sum[i]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < Positions; ++i) {
    const Vector<C> v = g.relu ? (sum[i] < 0 ? Vector<C>{} : sum[i]) : sum[i];
    store_part<C>(g.out + i * g.out_row, v, g.last);
  }
}

template <class C, size_t... I>
void run_lanes(int64_t positions, const SegmentArgs<C>& g, std::index_sequence<I...>) {
  static constexpr SegmentMicro<C> table[] = {&lane_micro<C, int(I) + 1>...};
  table[positions - 1](g);
}

inline constexpr int kLaneTaps = 9;

// out[t] +=, lanes of sums: gradients at k positions, a_depth apart, times what lies under the tap.
template <class C, int Taps> void lane_dots(const SegmentArgs<C>& g) {
  Vector<C> sum[Taps];
  const C* x[Taps];
#pragma GCC unroll 9
  for (int t = 0; t < Taps; ++t) {
    sum[t] = Vector<C>{};
    x[t] = g.b + g.segment[t].b;
  }
  for (int64_t p = 0; p < g.k; ++p) {
    const Vector<C> dy = load_vector(g.a + p * kLanes<C>);
#pragma GCC unroll 9
    for (int t = 0; t < Taps; ++t)
      sum[t] = multiply_add<C>(dy, load_vector(x[t] + p * g.b_depth), sum[t]);
  }
#pragma GCC unroll 9
  for (int t = 0; t < Taps; ++t) {
    C* const to = g.out + t * kLanes<C>;
    store_vector<C>(to, load_vector(to) + sum[t]);
  }
}

template <class C, size_t... I>
void run_lane_dots(int64_t taps, const SegmentArgs<C>& g, std::index_sequence<I...>) {
  static constexpr SegmentMicro<C> table[] = {&lane_dots<C, int(I) + 1>...};
  table[taps - 1](g);
}

// A product whose groups are taken kLanes at a time.
template <class T> class LaneProduct {
 public:
  using C = GemmCompute<T>;
  static bool suits(const TapProduct<T>& g) {
    return g.rows * g.channels <= 4 && 2 * g.groups >= kLanes<C>;
  }

  explicit LaneProduct(const TapProduct<T>& g)
      : g_(g),
        blocks_(g, 32 * kMicroRows),
        row_(g.dim[2].length(blocks_.columns()) * kLanes<C>),
        depth_(row_ * g.dim[1].length(blocks_.rows())),
        channel_(depth_ * g.dim[0].taps),
        k_(g.channels * g.taps()),
        strips_((g.groups + kLanes<C> - 1) / kLanes<C>) {
    const TapDim* d = g.dim;
    for (int64_t s = 0; s < k_; ++s) {
      const int64_t line = s / d[2].taps, plane = line / d[1].taps;
      segments_.push_back({0, plane / d[0].taps * channel_ + plane % d[0].taps * depth_ +
                                  line % d[1].taps * d[1].delta * row_ +
                                  s % d[2].taps * d[2].delta * kLanes<C>});
    }
  }

  void run() {
    const int64_t each = blocks_.of_group();
    const int64_t work = blocks_.rows() * blocks_.columns() * g_.rows * (k_ + 1) * kLanes<C>;
    parallel_for(strips_ * each, 1 + (1 << 18) / work, [&](int64_t i, int64_t end) {
      const Scratch memory(
          size_t((g_.rows * (k_ + 1) + blocks_.columns()) * kLanes<C> + g_.channels * channel_) *
          sizeof(C));
      C *weights = memory.as<C>(), *bias = weights + g_.rows * k_ * kLanes<C>,
        *sums = bias + g_.rows * kLanes<C>, *copy = sums + blocks_.columns() * kLanes<C>;
      for (int64_t packed = -1; i < end; ++i) {
        const TapBlock b = block(i / each, i % each);
        if (packed != b.group) pack(b.group, weights, bias);
        packed = b.group;
        copy_window(b, copy);
        for (int64_t r = 0; r < g_.rows; ++r)
          channel(b, r, weights + r * k_ * kLanes<C>, bias + r * kLanes<C>, copy, sums);
      }
    });
  }

  // The gradient by the weight: strips are independent, images go one after the other.
  void run_weight() {
    const int64_t work = g_.images * g_.positions() * g_.rows * k_ * kLanes<C>;
    parallel_for(strips_, 1 + (1 << 18) / (work + 1), [&](int64_t strip, int64_t end) {
      const int64_t size = g_.rows * k_ * kLanes<C>;
      const Scratch memory(size_t(size + blocks_.columns() * kLanes<C> + g_.channels * channel_) *
                           sizeof(C));
      C *sums = memory.as<C>(), *line = sums + size, *copy = line + blocks_.columns() * kLanes<C>;
      for (; strip < end; ++strip) {
        std::fill(sums, sums + size, C(0));
        for (int64_t i = 0; i < blocks_.of_group(); ++i) add(block(strip, i), copy, line, sums);
        put(strip * kLanes<C>, sums);
      }
    });
  }

 private:
  TapBlock block(int64_t strip, int64_t i) const {
    TapBlock b = blocks_[i];
    b.group = strip * kLanes<C>;
    return b;
  }
  int lanes(int64_t group) const { return int(std::min<int64_t>(kLanes<C>, g_.groups - group)); }

  // Calls f(row, element of row r of group `group + lane`'s weight, its place).
  template <class F> void for_weights(int64_t group, F&& f) const {
    for (int64_t r = 0; r < g_.rows; ++r) {
      for (int64_t s = 0; s < k_; ++s) {
        T* w = g_.w + group * g_.w_group + r * g_.w_row + s / g_.taps() * g_.w_channel +
               g_.tap_offset(s % g_.taps());
        for (int l = 0; l < lanes(group); ++l) f(w[l * g_.w_group], (r * k_ + s) * kLanes<C> + l);
      }
    }
  }

  void pack(int64_t group, C* weights, C* bias) const {
    std::fill(weights, bias + g_.rows * kLanes<C>, C(0));
    for_weights(group, [&](const T& w, int64_t at) { weights[at] = gemm_load(&w); });
    for (int64_t r = 0; g_.bias && r < g_.rows; ++r) {
      for (int l = 0; l < lanes(group); ++l)
        bias[r * kLanes<C> + l] = gemm_load(g_.bias + ((group + l) * g_.rows + r) * g_.bias_stride);
    }
  }

  void copy_window(const TapBlock& b, C* to) const {
    const TapDim& dw = g_.dim[2];
    const int64_t rows = g_.dim[0].taps * g_.dim[1].length(b.rows);
    for (int64_t c = 0; c < g_.channels; ++c) {
      for_window_rows(g_, b, image_of(g_, b) + c * g_.x_channel, 0, rows,
                      [&](int64_t i, const T* from) {
                        const int64_t height = g_.dim[1].length(b.rows);
                        copy_pixels<T>(to + c * channel_ + i / height * depth_ + i % height * row_,
                                       kLanes<C>, from, lanes(b.group), g_.channels * g_.x_channel,
                                       dw, dw.start(b.column), dw.length(b.columns));
                      });
    }
  }

  // Output channel r of each group.
  void channel(const TapBlock& b, int64_t r, const C* weights, const C* bias, const C* x,
               C* sums) const {
    const int64_t apart = g_.rows * g_.out_channel;
    const bool direct = std::is_same_v<T, C> && (apart == 1 || lanes(b.group) == 1);
    SegmentArgs<C> m{};
    m.a = weights;
    m.b_depth = g_.dim[2].step * kLanes<C>;
    m.init = bias;
    m.relu = std::is_same_v<T, C> && g_.activation == Activation::relu;
    m.segment = segments_.data();
    m.segments = k_;
    m.last = direct ? lanes(b.group) : kLanes<C>;
    m.out_row = direct ? g_.out_step[2] : kLanes<C>;
    for (int64_t row = 0; row < b.rows; ++row) {
      T* out = output_of(g_, b) + r * g_.out_channel + row * g_.out_step[1];
      for_tiles(b.columns, [&](int64_t at, int64_t count) {
        m.b = x + row * g_.dim[1].step * row_ + at * m.b_depth;
        m.out = (direct ? reinterpret_cast<C*>(out) : sums) + at * m.out_row;
        run_lanes(count, m, std::make_index_sequence<size_t(kMicroRows)>{});
      });
      if (!direct) {
        put_pixels<T>(out, apart, g_.out_step[2], sums, kLanes<C>, lanes(b.group), b.columns,
                      g_.activation);
      }
    }
  }

  void add(const TapBlock& b, C* copy, C* line, C* sums) const {
    copy_window(b, copy);
    const TapDim columns{b.columns, g_.out_step[2], 1, b.columns, 1, 0, 0};
    SegmentArgs<C> m{};
    m.k = b.columns;
    m.a = line;
    m.b_depth = g_.dim[2].step * kLanes<C>;
    for (int64_t r = 0; r < g_.rows; ++r) {
      for (int64_t row = 0; row < b.rows; ++row) {
        copy_pixels<T>(line, kLanes<C>,
                       output_of(g_, b) + r * g_.out_channel + row * g_.out_step[1], lanes(b.group),
                       g_.rows * g_.out_channel, columns, 0, b.columns);
        m.b = copy + row * g_.dim[1].step * row_;
        for (int64_t s = 0; s < k_; s += kLaneTaps) {
          m.segment = segments_.data() + s;
          m.out = sums + (r * k_ + s) * kLanes<C>;
          run_lane_dots(std::min<int64_t>(kLaneTaps, k_ - s), m,
                        std::make_index_sequence<size_t(kLaneTaps)>{});
        }
      }
    }
  }

  void put(int64_t group, const C* sums) const {
    for_weights(group, [&](T& w, int64_t at) { w = gemm_finish<T>(sums[at], Activation::none); });
  }

  const TapProduct<T>& g_;
  const TapBlocks<T> blocks_;
  const int64_t row_, depth_, channel_, k_, strips_;
  std::vector<Segment> segments_;
};

}  // namespace flambeau::FLAM_TARGET
