// Convolutions of the host. Forward and the gradient by the data are one thing, a TapProduct: the
// weight times the patches of each image. A gradient over strided positions falls apart into one
// TapProduct for each residue of the stride, so that no zero is multiplied. Here the arguments
// become TapProducts, and each goes to what suits its sizes and how its operands lie.
#pragma once
#include <numeric>

#include "kernels/conv/conv_far.h"
#include "kernels/conv/conv_lanes.h"
#include "kernels/conv/conv_matrix.h"
#include "kernels/conv/conv_pixels_weight.h"
#include "kernels/conv/conv_plane_direct.h"
#include "kernels/conv/conv_plane_rows.h"
#include "kernels/conv/conv_planes_weight.h"
#include "kernels/conv/conv_winograd_product.h"
#include "kernels/conv/conv_winograd_weight.h"

namespace flambeau::FLAM_TARGET {

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
  if (MatrixWeight<T>::suits(g)) return MatrixWeight<T>(g).run();
  if constexpr (std::is_same_v<GemmCompute<T>, float>) {
    if (WinogradPlan<T>::suits(g) && WinogradPlan<T>(g).holds_taps() &&
        (g.dim[2].taps == 3 ? WinogradWeight<T, 3>(g).run() : WinogradWeight<T, 5>(g).run())) {
      return;
    }
  }
  PixelWeight<T>(g).run();
}

}  // namespace flambeau::FLAM_TARGET
