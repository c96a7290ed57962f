// Depthwise convolutions of planes whose rows are next to each other under the taps: several rows
// of outputs at once share what is loaded, and no plane is turned. For processors without AVX-512,
// whose masked loads need no window: conv_plane_direct.h.
#pragma once
#include "kernels/conv/conv_planes.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK < 2

inline constexpr int kRowsAtOnce = 4, kRowVectors = 2;

template <class C> struct PlaneRowArgs {
  const C* x;
  int64_t x_row, width;  // taps along a row, neighbours
  const C* w;
  C bias;
  C* out;
  int64_t out_row, columns;
  bool relu;
};

// A strip of Rows rows under Height taps.
template <class C, int Rows, int Height, int Vectors> void plane_rows(const PlaneRowArgs<C>& g) {
  using V = Vector<C>;
  V sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) sum[i][j] = splat(g.bias);
  }
  for (int64_t t = 0; t < g.width; ++t) {
    C w[Height];
#pragma GCC unroll 8
    for (int h = 0; h < Height; ++h) w[h] = g.w[h * g.width + t];
#pragma GCC unroll 16
    for (int r = 0; r < Rows + Height - 1; ++r) {
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) {
        V x;
        memcpy(&x, g.x + r * g.x_row + t + j * kLanes<C>, sizeof x);
        asm("" : "+v"(x));  // gcc would load it again for each product
#pragma GCC unroll 8
        for (int h = 0; h < Height; ++h) {
          if (r >= h && r - h < Rows)
            sum[r - h][j] = multiply_add<C>(splat(w[h]), x, sum[r - h][j]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) {
      const V v = g.relu ? (sum[i][j] < 0 ? V{} : sum[i][j]) : sum[i][j];
      C* to = g.out + i * g.out_row + j * kLanes<C>;
      const int64_t left = g.columns - j * kLanes<C>;
      if (left >= kLanes<C>) {
        memcpy(to, &v, sizeof v);
      } else if (left > 0) {
        store_part<C>(to, v, int(left));
      }
    }
  }
}

template <class C, int Vectors, int... Rows>
void run_plane_rows(int64_t rows, int64_t height, const PlaneRowArgs<C>& g,
                    std::integer_sequence<int, Rows...>) {
  using Micro = void (*)(const PlaneRowArgs<C>&);
  static constexpr Micro three[] = {&plane_rows<C, Rows + 1, 3, Vectors>...},
                         five[] = {&plane_rows<C, Rows + 1, 5, Vectors>...};
  (height == 3 ? three : five)[rows - 1](g);
}

template <class T> class PlaneRows {
 public:
  using C = GemmCompute<T>;
  static bool suits(const TapProduct<T>& g) {
    const TapDim &dh = g.dim[1], &dw = g.dim[2];
    return std::is_same_v<T, C> && g.rows == 1 && g.channels == 1 && g.dim[0].taps == 1 &&
           dh.step == 1 && dh.delta == 1 && (dh.taps == 3 || dh.taps == 5) && dw.step == 1 &&
           dw.delta == 1 && dw.stride == 1 && g.out_step[2] == 1 && dw.count >= kLanes<C>;
  }

  explicit PlaneRows(const TapProduct<T>& g)
      : g_(g), blocks_(g, 64 * kMicroColumns<C>), window_(g, blocks_) {
    for (int64_t t = 0; t < g.taps(); ++t) taps_.push_back(g.tap_offset(t));
  }

  void run() {
    const int64_t work = blocks_.rows() * blocks_.columns() * (g_.taps() + 4);
    parallel_for(blocks_.count(), 1 + (1 << 18) / work, [&](int64_t i, int64_t end) {
      const Scratch memory(window_.bytes(g_) + size_t(g_.taps()) * sizeof(C));
      C *copy = memory.as<C>(), *weights = copy + window_.bytes(g_) / sizeof(C);
      for (int64_t k = i; k < end; ++k) {
        const TapBlock b = blocks_[k], before = blocks_[std::max(i, k - 1)];
        block(b, weights, window_.copy(g_, b, copy, k == i ? nullptr : &before));
      }
    });
  }

 private:
  void block(const TapBlock& b, C* weights, const C* x) const {
    const T* w = g_.w + b.group * g_.w_group;
    for (size_t t = 0; t < taps_.size(); ++t) weights[t] = gemm_load(w + taps_[t]);
    PlaneRowArgs<C> m{};
    m.x_row = window_.row;
    m.width = g_.dim[2].taps;
    m.w = weights;
    m.bias = g_.bias ? gemm_load(g_.bias + b.group * g_.bias_stride) : C(0);
    m.out_row = g_.out_step[1];
    m.relu = g_.activation == Activation::relu;
    for (int64_t row = 0; row < b.rows; row += kRowsAtOnce) {
      const int64_t rows = std::min<int64_t>(kRowsAtOnce, b.rows - row);
      for (int64_t at = 0; at < b.columns;) {
        m.x = x + row * window_.row + at;
        m.out = reinterpret_cast<C*>(output_of(g_, b)) + row * m.out_row + at;
        m.columns = b.columns - at;
        at += strip(rows, m);
      }
    }
  }

  int64_t strip(int64_t rows, const PlaneRowArgs<C>& m) const {
    using Rows = std::make_integer_sequence<int, kRowsAtOnce>;
    const bool narrow = 2 * m.columns <= kRowVectors * kLanes<C>;
    constexpr int half = kRowVectors / 2;
    narrow ? run_plane_rows<C, half>(rows, g_.dim[1].taps, m, Rows{})
           : run_plane_rows<C, kRowVectors>(rows, g_.dim[1].taps, m, Rows{});
    return (narrow ? half : kRowVectors) * kLanes<C>;
  }

  const TapProduct<T>& g_;
  const TapBlocks<T> blocks_;
  const PlaneWindow<T> window_;
  std::vector<int64_t> taps_;  // where they lie in the weight
};

#endif

}  // namespace flambeau::FLAM_TARGET
