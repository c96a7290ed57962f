// The patch products of forward and gradient by the data as data, and the depthwise case, where a
// product has one channel to sum over: row by row, tap by tap, without packing.
#pragma once
#include "kernels/conv/conv_taps.h"

namespace flambeau::FLAM_TARGET {

// out [images, groups, rows, positions] = weight [groups, rows, channels * taps] @ patches of x.
template <class T> struct TapProduct {
  int64_t images, groups, rows, channels;
  const T* x;
  int64_t x_image, x_channel;
  TapDim dim[kConvDims];
  const T* w;
  int64_t w_group, w_row, w_channel, w_tap[kConvDims];
  T* out;
  int64_t out_image, out_channel, out_step[kConvDims];
  const T* bias;
  int64_t bias_stride;
  Activation activation;

  TapSource<T> source() const { return {x, x_channel, {dim[0], dim[1], dim[2]}}; }
  WeightSource<T> weight(int64_t group) const {
    return {w + group * w_group,
            w_row,
            w_channel,
            {w_tap[0], w_tap[1], w_tap[2]},
            {dim[0].taps, dim[1].taps, dim[2].taps}};
  }
};

// Positions j of a row whose element at + j * step lies inside.
struct Inside {
  int64_t low, high;
};
inline Inside inside(const TapDim& d, int64_t tap, int64_t limit) {
  const int64_t at = d.first + tap * d.delta;
  const int64_t low = at >= 0 ? 0 : (-at + d.step - 1) / d.step;
  const int64_t high = at >= d.size ? 0 : (d.size - at + d.step - 1) / d.step;
  return {low, std::min(limit, high)};
}

template <class C, class T>
FLAM_FN void add_scaled(C* sums, C scale, const T* from, int64_t step, int64_t n) {
  if (step == 1) {
    for (int64_t j = 0; j < n; ++j) sums[j] += scale * gemm_load(from + j);
  } else {
    for (int64_t j = 0; j < n; ++j) sums[j] += scale * gemm_load(from + j * step);
  }
}

// One row of positions of one output channel.
template <class T>
void direct_row(const TapProduct<T>& g, const T* x, const T* w, int64_t d, int64_t h,
                GemmCompute<T>* sums) {
  const TapDim &dd = g.dim[0], &dh = g.dim[1], &dw = g.dim[2];
  for (int64_t td = 0; td < dd.taps; ++td) {
    const int64_t at_d = d * dd.step + dd.first + td * dd.delta;
    if (uint64_t(at_d) >= uint64_t(dd.size)) continue;
    for (int64_t th = 0; th < dh.taps; ++th) {
      const int64_t at_h = h * dh.step + dh.first + th * dh.delta;
      if (uint64_t(at_h) >= uint64_t(dh.size)) continue;
      for (int64_t tw = 0; tw < dw.taps; ++tw) {
        const Inside in = inside(dw, tw, dw.count);
        if (in.low >= in.high) continue;
        const int64_t at_w = in.low * dw.step + dw.first + tw * dw.delta;
        const T* from = x + at_d * dd.stride + at_h * dh.stride + at_w * dw.stride;
        const GemmCompute<T> scale =
            gemm_load(w + td * g.w_tap[0] + th * g.w_tap[1] + tw * g.w_tap[2]);
        add_scaled(sums + in.low, scale, from, dw.step * dw.stride, in.high - in.low);
      }
    }
  }
}

template <class T> void direct_taps(const TapProduct<T>& g) {
  using C = GemmCompute<T>;
  const int64_t lines = g.dim[0].count * g.dim[1].count, width = g.dim[2].count;
  const int64_t work = lines * width * (1 + g.dim[0].taps * g.dim[1].taps * g.dim[2].taps);
  parallel_for(g.images * g.groups * g.rows, 1 + (1 << 16) / work, [&](int64_t i, int64_t end) {
    const Scratch line(size_t(width) * sizeof(C));
    C* sums = line.template as<C>();
    for (; i < end; ++i) {
      const int64_t image = i / (g.groups * g.rows), channel = i % (g.groups * g.rows);
      const int64_t group = channel / g.rows, row = channel % g.rows;
      const T* x = g.x + image * g.x_image + group * g.x_channel;
      const T* w = g.w + group * g.w_group + row * g.w_row;
      T* out = g.out + image * g.out_image + channel * g.out_channel;
      const C start = g.bias ? gemm_load(g.bias + channel * g.bias_stride) : C(0);
      for (int64_t at = 0; at < lines; ++at) {
        const int64_t d = at / g.dim[1].count, h = at % g.dim[1].count;
        for (int64_t j = 0; j < width; ++j) sums[j] = start;
        direct_row(g, x, w, d, h, sums);
        T* to = out + d * g.out_step[0] + h * g.out_step[1];
        for (int64_t j = 0; j < width; ++j)
          to[j * g.out_step[2]] = gemm_finish<T>(sums[j], g.activation);
      }
    }
  });
}

// sum over j of a[j * a_step] * b[j * b_step], into the lanes of acc.
template <class T>
FLAM_FN void add_dot(Vector<GemmCompute<T>>& acc, const T* a, int64_t a_step, const T* b,
                     int64_t b_step, int64_t n) {
  using C = GemmCompute<T>;
  for (int64_t j = 0; j < n; j += kLanes<C>) {
    const int part = n - j < kLanes<C> ? int(n - j) : kLanes<C>;
    auto lanes = [&](const T* p, int64_t step) {
      if (step == 1) return part == kLanes<C> ? load_as(p + j) : load_part_as(p + j, part);
      C v[kLanes<C>] = {};
      for (int l = 0; l < part; ++l) v[l] = gemm_load(p + (j + l) * step);
      return load_vector(v);
    };
    acc = multiply_add<C>(lanes(a, a_step), lanes(b, b_step), acc);
  }
}

// One element of a depthwise weight's gradient: dy's rows times x's, over all images.
template <class T>
GemmCompute<T> direct_weight_sum(const ConvArgs& g, const T* x, const T* dy,
                                 const int64_t (&tap)[kConvDims]) {
  using C = GemmCompute<T>;
  Vector<C> acc{};
  const TapDim dw{g.in[2], 0, g.stride[2], g.out[2], g.kernel[2], -g.padding[2], g.dilation[2]};
  const Inside in = inside(dw, tap[2], dw.count);
  const int64_t at_w = in.low * dw.step + dw.first + tap[2] * dw.delta;
  for (int64_t image = 0; image < g.images; ++image) {
    for (int64_t d = 0; d < g.out[0]; ++d) {
      const int64_t at_d = d * g.stride[0] - g.padding[0] + tap[0] * g.dilation[0];
      if (uint64_t(at_d) >= uint64_t(g.in[0])) continue;
      for (int64_t h = 0; h < g.out[1]; ++h) {
        const int64_t at_h = h * g.stride[1] - g.padding[1] + tap[1] * g.dilation[1];
        if (uint64_t(at_h) >= uint64_t(g.in[1])) continue;
        const T* a =
            dy + image * g.y.outer + d * g.y.space[0] + h * g.y.space[1] + in.low * g.y.space[2];
        const T* b =
            x + image * g.x.outer + at_d * g.x.space[0] + at_h * g.x.space[1] + at_w * g.x.space[2];
        add_dot<T>(acc, a, g.y.space[2], b, g.x.space[2] * g.stride[2], in.high - in.low);
      }
    }
  }
  return sum_of<C>(acc);
}

template <class T> void direct_weight(const ConvArgs& g) {
  parallel_for(g.groups * g.out_channels, 1, [&](int64_t channel, int64_t end) {
    for (; channel < end; ++channel) {
      const T* x = reinterpret_cast<const T*>(g.x.data) + channel / g.out_channels * g.x.inner;
      const T* dy = reinterpret_cast<const T*>(g.y.data) + channel * g.y.inner;
      T* out = reinterpret_cast<T*>(g.w.data) + channel * g.w.outer;
      for (int64_t td = 0; td < g.kernel[0]; ++td) {
        for (int64_t th = 0; th < g.kernel[1]; ++th) {
          for (int64_t tw = 0; tw < g.kernel[2]; ++tw) {
            const int64_t tap[kConvDims] = {td, th, tw};
            out[td * g.w.space[0] + th * g.w.space[1] + tw * g.w.space[2]] =
                gemm_finish<T>(direct_weight_sum<T>(g, x, dy, tap), Activation::none);
          }
        }
      }
    }
  });
}

}  // namespace flambeau::FLAM_TARGET
