// Convolutions of the host. Forward and the gradient by the data are one thing, a TapProduct: the
// weight times the patches of each image. A gradient over strided positions falls apart into one
// TapProduct for each residue of the stride, so that no zero is multiplied. The gradient by the
// weight is one product over all images.
#pragma once
#include <algorithm>
#include <numeric>

#include "kernels/conv/conv_direct.h"

namespace flambeau::FLAM_TARGET {

// sums [rows, columns] into out, where a column's index runs over `size`.
template <class T>
void scatter_rows(const GemmCompute<T>* sums, int64_t rows, const int64_t (&size)[4], T* out,
                  int64_t out_row, const int64_t (&stride)[4], Activation activation) {
  const int64_t columns = size[0] * size[1] * size[2] * size[3];
  parallel_for(rows, 1 + 16384 / (columns + 1), [&](int64_t row, int64_t end) {
    for (; row < end; ++row) {
      const GemmCompute<T>* from = sums + row * columns;
      T* to = out + row * out_row;
      for (int64_t a = 0; a < size[0]; ++a) {
        for (int64_t b = 0; b < size[1]; ++b) {
          for (int64_t c = 0; c < size[2]; ++c, from += size[3]) {
            T* line = to + a * stride[0] + b * stride[1] + c * stride[2];
            for (int64_t d = 0; d < size[3]; ++d)
              line[d * stride[3]] = gemm_finish<T>(from[d], activation);
          }
        }
      }
    }
  });
}

inline bool dense_space(const int64_t (&size)[4], const int64_t (&stride)[4]) {
  int64_t expected = 1;
  for (int d = 4; d-- > 0; expected *= size[d]) {
    if (size[d] != 1 && stride[d] != expected) return false;
  }
  return true;
}

template <class T> class TapProductRun {
 public:
  using C = GemmCompute<T>;
  explicit TapProductRun(const TapProduct<T>& g)
      : g_(g),
        source_(g.source()),
        k_(g.channels * source_.taps()),
        positions_(source_.positions()),
        packed_(size_t(g.groups * g.rows * k_) * sizeof(C)) {}

  void run() {
    for (int64_t group = 0; group < g_.groups; ++group) {
      pack_whole(packed_.template as<C>() + group * g_.rows * k_, g_.weight(group), g_.rows, k_);
    }
    const int64_t items = g_.images * g_.groups, work = g_.rows * (k_ + 1) * positions_;
    // Whole images to threads, where there are enough of them; else the threads share each image.
    const int64_t grain = items >= 2 * get_num_threads() ? 1 + (1 << 18) / work : items;
    parallel_for(items, grain, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) one(i / g_.groups, i % g_.groups);
    });
  }

 private:
  void one(int64_t image, int64_t group) {
    T* out = g_.out + image * g_.out_image + group * g_.rows * g_.out_channel;
    const int64_t size[4] = {1, g_.dim[0].count, g_.dim[1].count, g_.dim[2].count};
    const int64_t stride[4] = {0, g_.out_step[0], g_.out_step[1], g_.out_step[2]};
    const T* bias = g_.bias ? g_.bias + group * g_.rows * g_.bias_stride : nullptr;
    if constexpr (std::is_same_v<T, C>) {
      if (dense_space(size, stride)) {
        const bool relu = g_.activation == Activation::relu;
        return multiply(image, group, {out, g_.out_channel, bias, g_.bias_stride, true, relu});
      }
    }
    const Scratch sums(size_t(g_.rows * positions_) * sizeof(C)),
        converted(size_t(g_.rows) * sizeof(C));
    C* start = bias ? converted.as<C>() : nullptr;
    for (int64_t i = 0; bias && i < g_.rows; ++i) start[i] = gemm_load(bias + i * g_.bias_stride);
    multiply(image, group, {sums.as<C>(), positions_, start, 1, true, false});
    scatter_rows<T>(sums.as<C>(), g_.rows, size, out, g_.out_channel, stride, g_.activation);
  }

  void multiply(int64_t image, int64_t group, const Target<C>& target) {
    TapSource<T> taps = source_;
    taps.data += image * g_.x_image + group * g_.channels * g_.x_channel;
    const WeightSource<T> weight = g_.weight(group);
    const C* packed = packed_.template as<C>() + group * g_.rows * k_;
    if (taps.is_matrix()) {
      const MatrixSource<T> matrix{taps.data, 1, taps.channel};
      BlockedProduct<WeightSource<T>, MatrixSource<T>>(g_.rows, positions_, k_, weight, matrix,
                                                       target, packed)
          .run();
    } else {
      BlockedProduct<WeightSource<T>, TapSource<T>>(g_.rows, positions_, k_, weight, taps, target,
                                                    packed)
          .run();
    }
  }

  const TapProduct<T>& g_;
  const TapSource<T> source_;
  const int64_t k_, positions_;
  const Scratch packed_;
};

template <class T> void run_taps(const TapProduct<T>& g) {
  if (g.dim[0].count * g.dim[1].count * g.dim[2].count == 0) return;
  if (g.channels == 1 && g.rows <= 2) return direct_taps(g);
  TapProductRun<T>(g).run();
}

template <class T> void conv_entry(void*, const void* p) {
  const ConvArgs& a = *static_cast<const ConvArgs*>(p);
  TapProduct<T> g{};
  g.images = a.images;
  g.groups = a.groups;
  g.rows = a.out_channels;
  g.channels = a.in_channels;
  g.x = reinterpret_cast<const T*>(a.x.data);
  g.x_image = a.x.outer;
  g.x_channel = a.x.inner;
  g.w = reinterpret_cast<const T*>(a.w.data);
  g.w_group = a.out_channels * a.w.outer;
  g.w_row = a.w.outer;
  g.w_channel = a.w.inner;
  g.out = reinterpret_cast<T*>(a.y.data);
  g.out_image = a.y.outer;
  g.out_channel = a.y.inner;
  g.bias = reinterpret_cast<const T*>(a.bias);
  g.bias_stride = a.bias_stride;
  g.activation = a.activation;
  for (int d = 0; d < kConvDims; ++d) {
    g.dim[d] = {a.in[d],     a.x.space[d],  a.stride[d],  a.out[d],
                a.kernel[d], -a.padding[d], a.dilation[d]};
    g.w_tap[d] = a.w.space[d];
    g.out_step[d] = a.y.space[d];
  }
  run_taps(g);
}

// Residues of the stride that some input leaves: a stride may be far longer than the image.
inline int64_t starts(const ConvArgs& a, int d) { return std::min(a.stride[d], a.in[d]); }

// The inputs from `start` on in steps of the stride, and the taps that reach them.
template <class T> void take_residue(TapProduct<T>& g, const ConvArgs& a, int d, int64_t start) {
  const int64_t s = a.stride[d], dilation = a.dilation[d], common = std::gcd(s, dilation);
  const int64_t period = s / common, residue = (start + a.padding[d]) % s;
  const int64_t tried = std::min(period, a.kernel[d]);
  int64_t tap = 0;
  while (tap < tried && tap * dilation % s != residue) ++tap;
  const int64_t count = (a.in[d] - start + s - 1) / s;
  const bool met = tap < tried;
  const int64_t taps = met ? (a.kernel[d] - tap + period - 1) / period : 0;
  const int64_t first = met ? (start + a.padding[d] - tap * dilation) / s : 0;
  g.dim[d] = {a.out[d], a.y.space[d], 1, count, taps, first, -(dilation / common)};
  g.w += met ? tap * a.w.space[d] : 0;
  g.w_tap[d] = taps > 1 ? period * a.w.space[d] : 0;
  g.out += start * a.x.space[d];
  g.out_step[d] = count > 1 ? s * a.x.space[d] : 0;
}

template <class T> void conv_data_entry(void*, const void* p) {
  const ConvArgs& a = *static_cast<const ConvArgs*>(p);
  const int64_t residues = starts(a, 0) * starts(a, 1) * starts(a, 2);
  for (int64_t i = 0; i < residues; ++i) {
    TapProduct<T> g{};
    g.images = a.images;
    g.groups = a.groups;
    g.rows = a.in_channels;
    g.channels = a.out_channels;
    g.x = reinterpret_cast<const T*>(a.y.data);
    g.x_image = a.y.outer;
    g.x_channel = a.y.inner;
    g.w = reinterpret_cast<const T*>(a.w.data);
    g.w_group = a.out_channels * a.w.outer;
    g.w_row = a.w.inner;
    g.w_channel = a.w.outer;
    g.out = reinterpret_cast<T*>(a.x.data);
    g.out_image = a.x.outer;
    g.out_channel = a.x.inner;
    g.bias = reinterpret_cast<const T*>(a.bias);
    g.bias_stride = a.bias_stride;
    g.activation = a.activation;
    int64_t rest = i;
    for (int d = kConvDims; d-- > 0; rest /= starts(a, d))
      take_residue(g, a, d, rest % starts(a, d));
    run_taps(g);
  }
}

template <class T> void conv_weight_entry(void*, const void* p) {
  using C = GemmCompute<T>;
  const ConvArgs& a = *static_cast<const ConvArgs*>(p);
  const int64_t size[4] = {a.in_channels, a.kernel[0], a.kernel[1], a.kernel[2]};
  const int64_t stride[4] = {a.w.inner, a.w.space[0], a.w.space[1], a.w.space[2]};
  if (a.in_channels == 1 && a.out_channels <= 2) return direct_weight<T>(a);
  TapSource<T> dy{reinterpret_cast<const T*>(a.y.data), a.y.inner, {}},
      x{reinterpret_cast<const T*>(a.x.data), a.x.inner, {}};
  for (int d = 0; d < kConvDims; ++d) {
    dy.dim[d] = {a.out[d], a.y.space[d], 1, a.out[d], 1, 0, 0};
    x.dim[d] = {a.in[d],     a.x.space[d],  a.stride[d],  a.out[d],
                a.kernel[d], -a.padding[d], a.dilation[d]};
  }
  const int64_t columns = size[0] * size[1] * size[2] * size[3], k = a.images * dy.positions();
  const bool straight = std::is_same_v<T, C> && dense_space(size, stride);
  const Scratch sums(straight ? 0 : size_t(a.out_channels * columns) * sizeof(C));
  for (int64_t group = 0; group < a.groups; ++group) {
    PatchSource<T> rows{dy, a.y.outer}, patches{x, a.x.outer};
    rows.taps.data += group * a.out_channels * a.y.inner;
    patches.taps.data += group * a.in_channels * a.x.inner;
    T* out = reinterpret_cast<T*>(a.w.data) + group * a.out_channels * a.w.outer;
    const Target<C> target{straight ? reinterpret_cast<C*>(out) : sums.as<C>(),
                           straight ? a.w.outer : columns,
                           nullptr,
                           0,
                           false,
                           false};
    BlockedProduct<PatchSource<T>, PatchSource<T>>(a.out_channels, columns, k, rows, patches,
                                                   target)
        .run();
    if (!straight)
      scatter_rows<T>(sums.as<C>(), a.out_channels, size, out, a.w.outer, stride, Activation::none);
  }
}

}  // namespace flambeau::FLAM_TARGET
