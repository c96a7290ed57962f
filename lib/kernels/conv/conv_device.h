// Convolutions in plain CUDA C++, gathering: a thread owns an output element and sums in a fixed
// order, so that no atomics are needed and every run gives the same bits. For the gradient by the
// weight a block owns the element. They serve what conv_product_device.h and conv_direct_device.h
// do not: more positions than 32 bits count, and weights larger than a block's memory.
#pragma once
#include "kernels/conv/conv.h"
#include "kernels/cuda_launch.h"
#include "kernels/gemm/gemm_value.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kConvBlock = 256;

// A position in a batch of images; the last dimension runs fastest.
struct ConvPosition {
  int64_t image, channel, at[kConvDims];
};

FLAM_FN ConvPosition conv_position(int64_t index, int64_t channels,
                                   const int64_t (&size)[kConvDims]) {
  ConvPosition p;
  for (int d = kConvDims; d-- > 0; index /= size[d]) p.at[d] = index % size[d];
  p.channel = index % channels;
  p.image = index / channels;
  return p;
}

FLAM_FN int64_t conv_offset(const ConvOperand& o, int64_t outer, int64_t inner, int64_t d,
                            int64_t h, int64_t w) {
  return outer * o.outer + inner * o.inner + d * o.space[0] + h * o.space[1] + w * o.space[2];
}

FLAM_FN int64_t conv_in(const ConvArgs& g, int d, int64_t out, int64_t tap) {
  return out * g.stride[d] - g.padding[d] + tap * g.dilation[d];
}

// The output that meets input `in` under a tap, or -1.
FLAM_FN int64_t conv_out(const ConvArgs& g, int d, int64_t in, int64_t tap) {
  const int64_t reach = in + g.padding[d] - tap * g.dilation[d];
  if (reach < 0 || reach % g.stride[d] != 0 || reach / g.stride[d] >= g.out[d]) return -1;
  return reach / g.stride[d];
}

FLAM_FN bool conv_inside(const ConvArgs& g, int d, int64_t in) { return in >= 0 && in < g.in[d]; }

template <class T> __global__ void conv_kernel(ConvArgs g, int64_t n) {
  const T *x = reinterpret_cast<const T*>(g.x.data), *w = reinterpret_cast<const T*>(g.w.data);
  const T* bias = reinterpret_cast<const T*>(g.bias);
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * blockDim.x) {
    const ConvPosition p = conv_position(i, g.groups * g.out_channels, g.out);
    const int64_t first = p.channel / g.out_channels * g.in_channels;
    GemmCompute<T> sum = bias ? gemm_load(bias + p.channel * g.bias_stride) : 0;
    for (int64_t c = 0; c < g.in_channels; ++c) {
      for (int64_t td = 0; td < g.kernel[0]; ++td) {
        const int64_t d = conv_in(g, 0, p.at[0], td);
        if (!conv_inside(g, 0, d)) continue;
        for (int64_t th = 0; th < g.kernel[1]; ++th) {
          const int64_t h = conv_in(g, 1, p.at[1], th);
          if (!conv_inside(g, 1, h)) continue;
          for (int64_t tw = 0; tw < g.kernel[2]; ++tw) {
            const int64_t q = conv_in(g, 2, p.at[2], tw);
            if (!conv_inside(g, 2, q)) continue;
            sum += gemm_load(x + conv_offset(g.x, p.image, first + c, d, h, q)) *
                   gemm_load(w + conv_offset(g.w, p.channel, c, td, th, tw));
          }
        }
      }
    }
    T* y = reinterpret_cast<T*>(g.y.data);
    y[conv_offset(g.y, p.image, p.channel, p.at[0], p.at[1], p.at[2])] =
        gemm_finish<T>(sum, g.activation);
  }
}

template <class T> __global__ void conv_data_kernel(ConvArgs g, int64_t n) {
  const T *y = reinterpret_cast<const T*>(g.y.data), *w = reinterpret_cast<const T*>(g.w.data);
  const T* bias = reinterpret_cast<const T*>(g.bias);
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * blockDim.x) {
    const ConvPosition p = conv_position(i, g.groups * g.in_channels, g.in);
    const int64_t first = p.channel / g.in_channels * g.out_channels,
                  inner = p.channel % g.in_channels;
    GemmCompute<T> sum = bias ? gemm_load(bias + p.channel * g.bias_stride) : 0;
    for (int64_t o = first; o < first + g.out_channels; ++o) {
      for (int64_t td = 0; td < g.kernel[0]; ++td) {
        const int64_t d = conv_out(g, 0, p.at[0], td);
        if (d < 0) continue;
        for (int64_t th = 0; th < g.kernel[1]; ++th) {
          const int64_t h = conv_out(g, 1, p.at[1], th);
          if (h < 0) continue;
          for (int64_t tw = 0; tw < g.kernel[2]; ++tw) {
            const int64_t q = conv_out(g, 2, p.at[2], tw);
            if (q < 0) continue;
            sum += gemm_load(y + conv_offset(g.y, p.image, o, d, h, q)) *
                   gemm_load(w + conv_offset(g.w, o, inner, td, th, tw));
          }
        }
      }
    }
    T* x = reinterpret_cast<T*>(g.x.data);
    x[conv_offset(g.x, p.image, p.channel, p.at[0], p.at[1], p.at[2])] =
        gemm_finish<T>(sum, g.activation);
  }
}

template <class T> __global__ void conv_weight_kernel(ConvArgs g, int64_t n) {
  using C = GemmCompute<T>;
  __shared__ C sums[kConvBlock];
  const T *x = reinterpret_cast<const T*>(g.x.data), *y = reinterpret_cast<const T*>(g.y.data);
  const int64_t positions = g.images * g.out[0] * g.out[1] * g.out[2];
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
    const ConvPosition tap = conv_position(i, g.in_channels, g.kernel);  // .image: output channel
    const int64_t c = tap.image / g.out_channels * g.in_channels + tap.channel;
    C sum = 0;
    for (int64_t at = threadIdx.x; at < positions; at += kConvBlock) {
      const ConvPosition p = conv_position(at, 1, g.out);
      int64_t in[kConvDims];
      bool inside = true;
      for (int d = 0; d < kConvDims; ++d) {
        in[d] = conv_in(g, d, p.at[d], tap.at[d]);
        inside = inside && conv_inside(g, d, in[d]);
      }
      if (!inside) continue;
      sum += gemm_load(y + conv_offset(g.y, p.image, tap.image, p.at[0], p.at[1], p.at[2])) *
             gemm_load(x + conv_offset(g.x, p.image, c, in[0], in[1], in[2]));
    }
    sums[threadIdx.x] = sum;
    for (int half = kConvBlock / 2; half > 0; half /= 2) {
      __syncthreads();
      if (int(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) {
      T* w = reinterpret_cast<T*>(g.w.data);
      w[conv_offset(g.w, tap.image, tap.channel, tap.at[0], tap.at[1], tap.at[2])] =
          gemm_finish<T>(sums[0], Activation::none);
    }
    __syncthreads();
  }
}

inline unsigned conv_blocks(int64_t blocks) {
  return unsigned(blocks < (1 << 20) ? blocks : 1 << 20);
}

template <class T> void conv_entry(void* stream, const void* p) {
  const ConvArgs& g = *static_cast<const ConvArgs*>(p);
  const int64_t n = g.images * g.groups * g.out_channels * g.out[0] * g.out[1] * g.out[2];
  FLAM_LAUNCH((conv_kernel<T>), dim3(conv_blocks((n + kConvBlock - 1) / kConvBlock)),
              dim3(kConvBlock), 0, stream, g, n);
}

template <class T> void conv_data_entry(void* stream, const void* p) {
  const ConvArgs& g = *static_cast<const ConvArgs*>(p);
  const int64_t n = g.images * g.groups * g.in_channels * g.in[0] * g.in[1] * g.in[2];
  FLAM_LAUNCH((conv_data_kernel<T>), dim3(conv_blocks((n + kConvBlock - 1) / kConvBlock)),
              dim3(kConvBlock), 0, stream, g, n);
}

template <class T> void conv_weight_entry(void* stream, const void* p) {
  const ConvArgs& g = *static_cast<const ConvArgs*>(p);
  const int64_t n =
      g.groups * g.out_channels * g.in_channels * g.kernel[0] * g.kernel[1] * g.kernel[2];
  FLAM_LAUNCH((conv_weight_kernel<T>), dim3(conv_blocks(n)), dim3(kConvBlock), 0, stream, g, n);
}

}  // namespace flambeau::FLAM_TARGET
