// Convolutions in one to three dimensions: forward, and the two gradients, which also serve
// transposed convolution (its forward is the gradient by the data). Operands are strided views;
// half types accumulate in f32; the result's bits do not depend on the number of threads.
#pragma once
#include "kernels/gemm/gemm.h"

namespace flambeau {

struct ConvParams {
  Dims stride, padding, dilation;  // one per spatial dimension
  int64_t groups = 1;
};

// Sizes of y = conv(x, w): x [n, c, ...], w [o, c / groups, ...]; throws where they do not fit.
// `params` and numbers of dimensions are valid; what runs below takes operands of sizes that were
// made or checked with this.
Dims conv_sizes(const char* op, const Tensor& x, const Tensor& w, const ConvParams& params);

// y = act(conv(x, w) + bias); bias [o] or undefined.
void run_conv(const char* op, const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
              const ConvParams& params, Activation activation = Activation::none);
// dx [n, c, ...]: what conv(., w) makes of dy, backwards; plus bias [c] or undefined, for
// transposed convolution.
void run_conv_backward_data(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& w,
                            const Tensor& bias, const ConvParams& params);
// dw [o, c / groups, ...]: the sum over images and positions.
void run_conv_backward_weight(const char* op, const Tensor& dw, const Tensor& dy, const Tensor& x,
                              const ConvParams& params);

// Operands of both gradients, for calls of the two functions above: what these would bring into
// another layout each by itself is brought there once.
struct ConvOperands {
  Tensor dy, x, w;
};
ConvOperands conv_operands(const char* op, const Tensor& dy, const Tensor& x, const Tensor& w,
                           const ConvParams& params);

// ---- what a launch receives
// ------------------------------------------------------------------------------

inline constexpr int kConvDims = 3;  // fewer: the leading ones have size 1

struct ConvOperand {
  char* data;
  int64_t outer, inner,
      space[kConvDims];  // strides in elements: image and channel, or output and input channel
};
ConvOperand operand_of(const Tensor& t);  // [n, c, ...space]

struct ConvArgs {
  int64_t images, groups, in_channels, out_channels;  // channels of one group
  int64_t in[kConvDims], out[kConvDims], kernel[kConvDims];
  int64_t stride[kConvDims], padding[kConvDims], dilation[kConvDims];
  ConvOperand x, y, w;
  const char* bias;  // null: none
  int64_t bias_stride;
  Activation activation;
};

extern constinit Kernel kConv, kConvBackwardData, kConvBackwardWeight;

}  // namespace flambeau
