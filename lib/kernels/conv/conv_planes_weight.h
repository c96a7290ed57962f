// The gradient by the weight over planes: sums along rows of positions, a vector of partial sums
// for each element of the weight. Groups are independent, and images go one after the other, so
// the bits do not depend on the number of threads.
#pragma once
#include "kernels/conv/conv_planes.h"
#include "kernels/gemm/gemm_sums.h"

namespace flambeau::FLAM_TARGET {

// sums[r][t] += rows of positions of gradient r times what lies under tap t.
template <class C> struct PlaneDots {
  int64_t rows, vectors;  // of positions
  int last;               // that a row's last vector has: behind them is what must not be read
  const C* gradient;
  int64_t gradient_row, gradient_channel;
  const C* x;
  int64_t x_row;
  const int64_t* taps;
  C* sums;
  int64_t sums_channel;
};

template <class C, int Rows, int Taps> void plane_dots(const PlaneDots<C>& g) {
  Vector<C> acc[Rows][Taps];
#pragma GCC unroll 5
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 5
    for (int t = 0; t < Taps; ++t) acc[r][t] = Vector<C>{};
  }
  for (int64_t h = 0; h < g.rows; ++h) {
    for (int64_t j = 0; j < g.vectors * kLanes<C>; j += kLanes<C>) {
      const bool part = g.last < kLanes<C> && j + kLanes<C> == g.vectors * kLanes<C>;
      const auto load = [&](const C* p) { return part ? load_part(p, g.last) : load_vector(p); };
      Vector<C> x[Taps];
#pragma GCC unroll 5
      for (int t = 0; t < Taps; ++t) x[t] = load(g.x + g.taps[t] + h * g.x_row + j);
#pragma GCC unroll 5
      for (int r = 0; r < Rows; ++r) {
        const Vector<C> dy = load(g.gradient + r * g.gradient_channel + h * g.gradient_row + j);
#pragma GCC unroll 5
        for (int t = 0; t < Taps; ++t) acc[r][t] = multiply_add<C>(dy, x[t], acc[r][t]);
      }
    }
  }
#pragma GCC unroll 5
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 5
    for (int t = 0; t < Taps; ++t) {
      C* const sum = g.sums + r * g.sums_channel + t * kLanes<C>;
      store_vector<C>(sum, load_vector(sum) + acc[r][t]);
    }
  }
}

inline constexpr int64_t kPlaneTaps = 5;

template <class C, int Rows> void plane_dots_of(int taps, const PlaneDots<C>& g) {
  static constexpr void (*table[])(const PlaneDots<C>&) = {
      &plane_dots<C, Rows, 1>, &plane_dots<C, Rows, 2>, &plane_dots<C, Rows, 3>,
      &plane_dots<C, Rows, 4>, &plane_dots<C, Rows, 5>};
  table[taps - 1](g);
}

template <class T> class PlaneWeight {
 public:
  using C = GemmCompute<T>;
  static bool suits(const TapProduct<T>& g) {
    return 2 * g.rows <= kLanes<C> && g.groups >= 4 && g.dim[2].count >= kLanes<C> / 2;
  }

  explicit PlaneWeight(const TapProduct<T>& g)
      : g_(g),
        blocks_(g, 32 * kMicroColumns<C>),
        window_(g, blocks_),
        k_(g.channels * g.taps()),
        line_(whole_vectors<C>(blocks_.columns())) {
    for (int64_t s = 0; s < k_; ++s)
      weights_.push_back(s / g.taps() * g.w_channel + g.tap_offset(s % g.taps()));
  }

  void run() {
    const int64_t work = g_.images * g_.positions() * g_.rows * k_;
    parallel_for(g_.groups, 1 + (1 << 18) / (work + 1), [&](int64_t group, int64_t end) {
      const Scratch copy(window_.bytes(g_)),
          gradient(in_place() ? 0 : size_t(g_.rows * blocks_.rows() * line_) * sizeof(C)),
          sums(size_t(g_.rows * k_ * kLanes<C>) * sizeof(C));
      for (; group < end; ++group) {
        std::fill(sums.as<C>(), sums.as<C>() + g_.rows * k_ * kLanes<C>, C(0));
        for (int64_t i = 0; i < blocks_.of_group(); ++i) {
          const int64_t at = group * blocks_.of_group() + i;
          const TapBlock b = blocks_[at], before = blocks_[i ? at - 1 : at];
          if (!in_place()) copy_gradient(b, gradient.as<C>());
          add(b, window_.copy(g_, b, copy.as<C>(), i ? &before : nullptr), gradient.as<C>(),
              sums.as<C>());
        }
        put(group, sums.as<C>());
      }
    });
  }

 private:
  // Gradients that are rows of the arithmetic type are read where they are.
  bool in_place() const { return std::is_same_v<T, C> && g_.out_step[2] == 1; }

  void copy_gradient(const TapBlock& b, C* to) const {
    for (int64_t r = 0; r < g_.rows; ++r) {
      for (int64_t h = 0; h < b.rows; ++h, to += line_) {
        const T* from = output_of(g_, b) + r * g_.out_channel + h * g_.out_step[1];
        pack_strip<T>(to, 0, {from, g_.out_step[2], 0}, 1, int(b.columns), int(b.columns));
      }
    }
  }

  void add(const TapBlock& b, const C* x, const C* gradient, C* sums) const {
    PlaneDots<C> d{};
    d.rows = b.rows;
    d.vectors = whole_vectors<C>(b.columns) / kLanes<C>;
    d.last = int(b.columns - (d.vectors - 1) * kLanes<C>);
    if (in_place()) gradient = reinterpret_cast<const C*>(output_of(g_, b));
    d.gradient_row = in_place() ? g_.out_step[1] : line_;
    d.gradient_channel = in_place() ? g_.out_channel : b.rows * line_;
    d.x = x;
    d.x_row = g_.dim[1].step * window_.row;
    d.sums_channel = k_ * kLanes<C>;
    for (int64_t s = 0; s < k_; s += kPlaneTaps) {
      const int taps = int(std::min<int64_t>(kPlaneTaps, k_ - s));
      d.taps = window_.taps.data() + s;
      for (int64_t r = 0; r < g_.rows;) {
        d.gradient = gradient + r * d.gradient_channel;
        d.sums = sums + r * d.sums_channel + s * kLanes<C>;
        r += add_rows(g_.rows - r, taps, d);
      }
    }
  }

  // As many rows as registers allow.
  static int64_t add_rows(int64_t left, int taps, const PlaneDots<C>& d) {
    if (FLAM_ISA_RANK == 2 && left >= 4) return plane_dots_of<C, 4>(taps, d), 4;
    if (left >= 2) return plane_dots_of<C, 2>(taps, d), 2;
    return plane_dots_of<C, 1>(taps, d), 1;
  }

  // A vector's sums at once, each in the order of sum_of.
  void put(int64_t group, const C* sums) const {
    T* to = g_.w + group * g_.w_group;
    int64_t s = 0;
    for (int64_t first = 0; first < g_.rows * k_; first += kLanes<C>) {
      const int count = int(std::min<int64_t>(kLanes<C>, g_.rows * k_ - first));
      Vector<C> v[kLanes<C>] = {};
      for (int i = 0; i < count; ++i) v[i] = load_vector(sums + (first + i) * kLanes<C>);
      const Vector<C> all = sums_of<C>(v);
      for (int i = 0; i < count; ++i) {
        to[weights_[size_t(s)]] = gemm_finish<T>(all[i], Activation::none);
        if (++s == k_) s = 0, to += g_.w_row;
      }
    }
  }

  const TapProduct<T>& g_;
  const TapBlocks<T> blocks_;
  const PlaneWindow<T> window_;
  const int64_t k_, line_;
  std::vector<int64_t> weights_;  // where each element of an output's weight lies
};

}  // namespace flambeau::FLAM_TARGET
