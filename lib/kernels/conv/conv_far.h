// Convolutions whose taps or positions lie so far apart that most of them miss the image: element
// by element, for a window that holds all between would be as long as a dilation or a stride says.
// Each sum is one chain in the order of taps and channels, of f32 in double.
#pragma once
#include "kernels/conv/conv_taps.h"

namespace flambeau::FLAM_TARGET {

template <class T> class FarProduct {
 public:
  using C = GemmCompute<T>;
  using Total = std::conditional_t<std::is_same_v<C, float>, double, C>;

  static bool suits(const TapProduct<T>& g) {
    return is_far(g.dim[0]) || is_far(g.dim[1]) || is_far(g.dim[2]);
  }

  explicit FarProduct(const TapProduct<T>& g) : g_(g) {}

  void run() const {
    const int64_t rows = g_.images * g_.groups * g_.rows;
    parallel_for(rows, 1, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const int64_t image = i / (g_.groups * g_.rows), channel = i % (g_.groups * g_.rows);
        T* out = g_.out + image * g_.out_image + channel * g_.out_channel;
        for (int64_t p = 0; p < g_.positions(); ++p)
          out[offset(p)] = output(image, channel / g_.rows, channel % g_.rows, p);
      }
    });
  }

  void run_weight() const {
    parallel_for(g_.groups * g_.rows * g_.channels, 1, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const int64_t group = i / (g_.rows * g_.channels), row = i / g_.channels % g_.rows;
        T* w = g_.w + group * g_.w_group + row * g_.w_row + i % g_.channels * g_.w_channel;
        for (int64_t t = 0; t < g_.taps(); ++t)
          w[g_.tap_offset(t)] = slope(group, row, i % g_.channels, t);
      }
    });
  }

 private:
  static bool is_far(const TapDim& t) {
    if (t.count == 0 || t.taps == 0) return false;
    const int64_t most = 64 + 4 * t.size, delta = t.delta < 0 ? -t.delta : t.delta;
    return (t.count - 1) > most / std::max<int64_t>(1, t.step) ||
           (t.taps - 1) > most / std::max<int64_t>(1, delta) || t.length(t.count) > most;
  }

  int64_t offset(int64_t p) const {
    const int64_t line = p / g_.dim[2].count;
    return p % g_.dim[2].count * g_.out_step[2] + line % g_.dim[1].count * g_.out_step[1] +
           line / g_.dim[1].count * g_.out_step[0];
  }

  // Where tap t of position p lies in a plane, or -1.
  int64_t place(int64_t p, int64_t t) const {
    int64_t at = 0;
    for (int d = kConvDims; d-- > 0; p /= g_.dim[d].count, t /= g_.dim[d].taps) {
      const TapDim& dim = g_.dim[d];
      const int64_t i = dim.start(p % dim.count) + t % dim.taps * dim.delta;
      if (i < 0 || i >= dim.size) return -1;
      at += i * dim.stride;
    }
    return at;
  }

  const T* image_of(int64_t image, int64_t group) const {
    return g_.x + image * g_.x_image + group * g_.channels * g_.x_channel;
  }

  T output(int64_t image, int64_t group, int64_t row, int64_t p) const {
    const T* w = g_.w + group * g_.w_group + row * g_.w_row;
    Total sum = g_.bias ? gemm_load(g_.bias + (group * g_.rows + row) * g_.bias_stride) : C(0);
    for (int64_t t = 0; t < g_.taps(); ++t) {
      const int64_t at = place(p, t);
      if (at < 0) continue;
      const T *x = image_of(image, group) + at, *of_tap = w + g_.tap_offset(t);
      for (int64_t c = 0; c < g_.channels; ++c)
        sum += Total(gemm_load(x + c * g_.x_channel)) * gemm_load(of_tap + c * g_.w_channel);
    }
    return gemm_finish<T>(C(sum), g_.activation);
  }

  T slope(int64_t group, int64_t row, int64_t channel, int64_t t) const {
    Total sum = 0;
    for (int64_t image = 0; image < g_.images; ++image) {
      const T* x = image_of(image, group) + channel * g_.x_channel;
      const T* dy = g_.out + image * g_.out_image + (group * g_.rows + row) * g_.out_channel;
      for (int64_t p = 0; p < g_.positions(); ++p) {
        const int64_t at = place(p, t);
        if (at >= 0) sum += Total(gemm_load(x + at)) * gemm_load(dy + offset(p));
      }
    }
    return gemm_finish<T>(C(sum), Activation::none);
  }

  const TapProduct<T>& g_;
};

}  // namespace flambeau::FLAM_TARGET
