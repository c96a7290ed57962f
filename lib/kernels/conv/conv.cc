// The front door of convolutions: shapes, and the arguments of their launches.
#include "kernels/conv/conv.h"

#include "base/checked.h"
#include "kernels/access.h"
#include "kernels/conv/conv_direct.h"
#include "kernels/conv/conv_pointwise.h"
#include "kernels/conv/conv_product.h"

namespace flambeau {

constinit Kernel kConv{"conv"}, kConvBackwardData{"conv_backward_data"},
    kConvBackwardWeight{"conv_backward_weight"};

namespace {

std::string joined(DimsView sizes) {
  std::string text;
  for (int64_t n : sizes) text += cat_text(text.empty() ? "" : " x ", n);
  return text;
}

}  // namespace

Dims conv_sizes(const char* op, const Tensor& x, const Tensor& w, const ConvParams& params) {
  const int64_t space = x.dim() - 2;
  const size_t nd = size_t(space);
  const int64_t groups = params.groups;
  check(w.sizes()[0] % groups == 0, Code::shape, "Given groups=", groups,
        ", expected weight to be divisible by ", groups, " at dimension 0, but got weight of size ",
        ShapeText{w.sizes()}, " instead");
  check(x.sizes()[1] == w.sizes()[1] * groups, Code::shape, "Given groups=", groups,
        ", weight of size ", ShapeText{w.sizes()}, ", expected input", ShapeText{x.sizes()},
        " to have ", w.sizes()[1] * groups, " channels, but got ", x.sizes()[1],
        " channels instead");
  Dims sizes{x.sizes()[0], w.sizes()[0]}, padded, kernel;
  bool fits = true;
  for (size_t d = 0; d < nd; ++d) {
    check(w.sizes()[d + 2] > 0, Code::shape, op,
          ": a kernel has at least one element along each dimension");
    kernel.push_back(window_reach(op, w.sizes()[d + 2], params.dilation[d]));
    padded.push_back(x.sizes()[d + 2] + 2 * params.padding[d]);
    fits = fits && padded[d] >= kernel[d];
    sizes.push_back((padded[d] - kernel[d]) / params.stride[d] + 1);
  }
  check(fits, Code::shape, "Calculated padded input size per channel: (", joined(padded),
        "). Kernel size: (", joined(kernel),
        "). Kernel size can't be greater than actual input size, with dilation");
  return sizes;
}

ConvOperand operand_of(const Tensor& t) {
  ConvOperand o{};
  o.data = static_cast<char*>(t.data());
  o.outer = t.strides()[0];
  o.inner = t.strides()[1];
  const int space = int(t.dim()) - 2, first = kConvDims - space;
  for (int d = 0; d < space; ++d) o.space[first + d] = t.strides()[size_t(d) + 2];
  return o;
}

namespace {

// y has the sizes of conv(x, w), or lacks positions at the ends, as where a transposed convolution
// has output padding.
ConvArgs args_of(const char* op, const Tensor& y, const Tensor& x, const Tensor& w,
                 const Tensor& bias, int64_t biased_channels, const ConvParams& params) {
  check(!bias.defined() || bias.dtype() == y.dtype(), Code::dtype, op, ": ", x, ", ", w, ", ", bias,
        " and ", y, " must share one dtype");
  ConvArgs g{};
  g.images = x.sizes()[0];
  g.groups = params.groups;
  g.in_channels = w.sizes()[1];
  g.out_channels = w.sizes()[0] / params.groups;
  const int space = int(x.dim()) - 2, first = kConvDims - space;
  for (int d = 0; d < kConvDims; ++d) {
    const bool real = d >= first;
    const size_t at = size_t(real ? d - first : 0);
    g.in[d] = real ? x.sizes()[at + 2] : 1;
    g.out[d] = real ? y.sizes()[at + 2] : 1;
    g.kernel[d] = real ? w.sizes()[at + 2] : 1;
    g.stride[d] = real ? params.stride[at] : 1;
    g.padding[d] = real ? params.padding[at] : 0;
    g.dilation[d] = real ? params.dilation[at] : 1;
  }
  g.x = operand_of(x);
  g.y = operand_of(y);
  g.w = operand_of(w);
  if (bias.defined()) {
    check(bias.dim() == 1 && bias.sizes()[0] == biased_channels, Code::shape, op,
          ": the bias must be [", biased_channels, "], not ", ShapeText{bias.sizes()});
    g.bias = static_cast<const char*>(bias.data());
    g.bias_stride = bias.strides()[0];
  }
  return g;
}

}  // namespace

void run_conv(const char* op, const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
              const ConvParams& params, Activation activation) {
  ConvArgs g = args_of(op, y, x, w, bias, w.sizes()[0], params);
  const KernelFn fn = kConv.find(op, y.device(), y.dtype());
  if (y.numel() == 0) return;
  g.activation = activation;
  if (run_conv_pointwise(op, y, x, w, bias, g)) return;
  if (conv_product_serves(kConvProduct, y, g)) return run_conv_product(op, y, x, w, bias, g);
  if (run_conv_direct(op, y, x, w, bias, g)) return;
  launch_kernel(op, fn, y.device(), g, {writes(y), reads(x), reads(w), reads(bias)});
}

void run_conv_backward_data(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& w,
                            const Tensor& bias, const ConvParams& params) {
  const ConvArgs g = args_of(op, dy, dx, w, bias, dx.sizes()[1], params);
  const KernelFn fn = kConvBackwardData.find(op, dx.device(), dx.dtype());
  if (dx.numel() == 0) return;
  if (run_conv_pointwise_data(op, dx, dy, w, bias, g)) return;
  if (conv_product_serves(kConvProductData, dx, g)) {
    return run_conv_product_data(op, dx, dy, w, bias, g);
  }
  if (run_conv_direct_data(op, dx, dy, w, bias, g)) return;
  launch_kernel(op, fn, dx.device(), g, {writes(dx), reads(dy), reads(w), reads(bias)});
}

void run_conv_backward_weight(const char* op, const Tensor& dw, const Tensor& dy, const Tensor& x,
                              const ConvParams& params) {
  const ConvArgs g = args_of(op, dy, x, dw, {}, 0, params);
  const KernelFn fn = kConvBackwardWeight.find(op, dw.device(), dw.dtype());
  if (dw.numel() == 0) return;
  if (run_conv_pointwise_weight(op, dw, dy, x, g)) return;
  if (conv_product_serves(kConvProductWeight, dw, g)) {
    return run_conv_product_weight(op, dw, dy, x, g);
  }
  if (run_conv_direct_weight(op, dw, dy, x, g)) return;
  launch_kernel(op, fn, dw.device(), g, {writes(dw), reads(dy), reads(x)});
}

ConvOperands conv_operands(const char* op, const Tensor& dy, const Tensor& x, const Tensor& w,
                           const ConvParams& params) {
  ConvOperands o{dy, x, w};
  const ConvArgs g = args_of(op, dy, x, w, {}, 0, params);
  const bool products = dy.numel() > 0 && w.numel() > 0 && !is_conv_pointwise(dy, g) &&
                        conv_product_serves(kConvProductData, dy, g) &&
                        conv_product_serves(kConvProductWeight, dy, g);
  if (products) bring_conv_product(o.dy, o.x, o.w, g);
  return o;
}

}  // namespace flambeau
