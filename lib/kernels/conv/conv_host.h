// Convolutions of the host. Forward and the gradient by the data are one thing, a TapProduct: the
// weight times the patches of each image. A gradient over strided positions falls apart into one
// TapProduct for each residue of the stride, so that no zero is multiplied. Here the arguments
// become TapProducts, and each goes to what suits its sizes and how its operands lie.
#pragma once
#include <numeric>

#include "kernels/conv/conv_far.h"
#include "kernels/conv/conv_lanes.h"
#include "kernels/conv/conv_pixels_weight.h"
#include "kernels/conv/conv_plane_direct.h"
#include "kernels/conv/conv_plane_rows.h"
#include "kernels/conv/conv_planes_weight.h"
#include "kernels/conv/conv_winograd_product.h"
#include "kernels/conv/conv_winograd_weight.h"

namespace flambeau::FLAM_TARGET {

// Planes under one tap that stays in place are a matrix already, [channels, positions].
template <class T> bool is_matrix(const TapProduct<T>& g) {
  return g.dim[0].whole() && g.dim[0].size == 1 && g.dim[1].whole() && g.dim[1].size == 1 &&
         g.dim[2].whole() && g.dim[2].stride == 1 && g.out_step[2] == 1 && g.x_channel != 1 &&
         std::is_same_v<T, GemmCompute<T>>;
}

template <class T> void matrix_taps(const TapProduct<T>& g) {
  using C = GemmCompute<T>;
  const int64_t items = g.images * g.groups, n = g.dim[2].count;
  const int64_t work = g.rows * (g.channels + 1) * n;
  // Whole images to threads, where there are enough of them; else the threads share each image.
  const int64_t grain = items >= 2 * get_num_threads() ? 1 + (1 << 18) / work : items;
  const Scratch packed(size_t(g.groups * g.rows * g.channels) * sizeof(C));
  auto weight = [&](int64_t group) {
    return MatrixSource<T>{g.w + group * g.w_group, g.w_row, g.w_channel};
  };
  auto packed_of = [&](int64_t group) { return packed.as<C>() + group * g.rows * g.channels; };
  for (int64_t group = 0; group < g.groups; ++group)
    pack_whole(packed_of(group), weight(group), g.rows, g.channels);
  parallel_for(items, grain, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const int64_t image = i / g.groups, group = i % g.groups, channel = group * g.rows;
      const MatrixSource<T> x{g.x + image * g.x_image + group * g.channels * g.x_channel, 1,
                              g.x_channel};
      const Target<C> to{
          reinterpret_cast<C*>(g.out) + image * g.out_image + channel * g.out_channel,
          g.out_channel,
          g.bias ? reinterpret_cast<const C*>(g.bias) + channel * g.bias_stride : nullptr,
          g.bias_stride,
          true,
          g.activation == Activation::relu};
      BlockedProduct<MatrixSource<T>, MatrixSource<T>>(g.rows, n, g.channels, weight(group), x, to,
                                                       packed_of(group))
          .run();
    }
  });
}

#if FLAM_ISA_RANK == 2
// Whether dot products of bfloat16 are there and have channels enough to work on.
inline bool fills_pairs(const TapProduct<BFloat16>& g) {
  return isa_rank() >= kIsaPairs && g.channels >= 8 && g.rows >= 8;
}
#endif

template <class T> void run_taps(TapProduct<T> g) {
  if (g.positions() == 0) return;
  if (FarProduct<T>::suits(g)) return FarProduct<T>(g).run();
  g.simplify();
  if (is_matrix(g)) return matrix_taps(g);
#if FLAM_ISA_RANK == 2
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (fills_pairs(g)) return PixelProduct<T, DotPair>(g).run();
  }
#endif
  if constexpr (std::is_same_v<GemmCompute<T>, float>) {
    if (WinogradPlan<T>::suits(g)) {
      return g.dim[2].taps == 3 ? WinogradProduct<T, 3>(g).run() : WinogradProduct<T, 5>(g).run();
    }
  }
  if (PlaneRows<T>::suits(g)) return PlaneRows<T>(g).run();
  if (LaneProduct<T>::suits(g)) return LaneProduct<T>(g).run();
  if (PlaneProduct<T>::suits(g)) return PlaneProduct<T>(g).run();
  PixelProduct<T>(g).run();
}

// Forward, whose terms are those of the gradient by the weight, too.
template <class T> TapProduct<T> forward_taps(const ConvArgs& a) {
  TapProduct<T> g{};
  g.images = a.images;
  g.groups = a.groups;
  g.rows = a.out_channels;
  g.channels = a.in_channels;
  g.x = reinterpret_cast<const T*>(a.x.data);
  g.x_image = a.x.outer;
  g.x_channel = a.x.inner;
  g.w = reinterpret_cast<T*>(a.w.data);
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
  return g;
}

template <class T> void conv_entry(void*, const void* p) {
  run_taps(forward_taps<T>(*static_cast<const ConvArgs*>(p)));
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
    g.w = reinterpret_cast<T*>(a.w.data);
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
  TapProduct<T> g = forward_taps<T>(*static_cast<const ConvArgs*>(p));
  if (FarProduct<T>::suits(g)) return FarProduct<T>(g).run_weight();
  g.simplify();
  if (LaneProduct<T>::suits(g)) return LaneProduct<T>(g).run_weight();
  if (PlaneWeight<T>::suits(g)) return PlaneWeight<T>(g).run();
  if constexpr (std::is_same_v<GemmCompute<T>, float>) {
    if (WinogradPlan<T>::suits(g) && WinogradPlan<T>(g).holds_taps() &&
        (g.dim[2].taps == 3 ? WinogradWeight<T, 3>(g).run() : WinogradWeight<T, 5>(g).run())) {
      return;
    }
  }
  PixelWeight<T>(g).run();
}

}  // namespace flambeau::FLAM_TARGET
