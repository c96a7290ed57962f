// A convolution with the batch norm by running statistics and the ReLU behind it. One pass over
// images where no gradient is recorded: the norm scales channels of the result, as scaled rows of
// the weight do, and its shift is a bias, which convolutions add in their last step as they rectify
// there. Half types would round scaled weights once more, so that they take the ReLU alone. Else,
// where the weight is larger than the image's worth, and where operands do not go together, three
// operations with their own gradients and errors.
#include <algorithm>

#include "graph/autograd_data.h"
#include "ops/call.h"
#include "ops/formula.h"
#include "ops/nn/conv.h"
#include "ops/ops.h"

namespace flambeau::ops {

namespace {

struct Norm {
  const Tensor &mean, &var, &weight, &bias;
  double eps;

  bool exists() const { return mean || var; }
  // Scaled rows of the weight cost less than another pass over the result.
  static bool pays(const Tensor& x, const Tensor& w) {
    const int64_t positions = x.numel() / std::max<int64_t>(1, x.size(1));
    return w.numel() / std::max<int64_t>(1, w.size(0)) <= positions;
  }
  // A variance of 0 without eps would make a channel's every weight infinite.
  bool folds_into(const Tensor& w) const {
    if (is_half(w.dtype()) || modes.autocast) return false;
    const auto fits = [&](const Tensor& t) {
      return t.dim() == 1 && t.numel() == w.size(0) && is_floating(t.dtype()) &&
             t.device() == w.device();
    };
    return mean && var && eps > 0 && fits(mean) && fits(var) && (!weight || fits(weight)) &&
           (!bias || fits(bias));
  }
};

struct Folded {
  Tensor weight, bias;
};

Folded folded(const Tensor& w, const Tensor& bias, const Norm& norm) {
  const auto alike = [&](const Tensor& t) { return to_dtype(t, w.dtype()); };
  Tensor scale = rsqrt(add(alike(norm.var), num(norm.eps)));
  if (norm.weight) scale = mul(scale, alike(norm.weight));
  Tensor shift = bias ? sub(bias, alike(norm.mean)) : neg(alike(norm.mean));
  shift = mul(shift, scale);
  if (norm.bias) shift = add(shift, alike(norm.bias));
  Dims by_row(size_t(w.dim()), 1);
  by_row[0] = w.size(0);
  return {mul(w, reshape(scale, by_row)), shift};
}

}  // namespace

Tensor conv_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                 const Tensor& running_mean, const Tensor& running_var, const Tensor& norm_weight,
                 const Tensor& norm_bias, DimsView stride, DimsView padding, DimsView dilation,
                 int64_t groups, double eps, bool relu) {
  const Call c{op::conv_norm,
               {input, weight, bias, running_mean, running_var, norm_weight, norm_bias},
               Devices::exact};
  const Norm norm{running_mean, running_var, norm_weight, norm_bias, eps};
  check(norm.exists() || (!norm_weight && !norm_bias), Code::invalid_argument,
        "conv_norm: norm_weight and norm_bias are of a normalisation, which needs running_mean and "
        "running_var");
  const ConvSteps steps{stride, padding, dilation, groups};
  if (weight.dim() >= 3 && input.dim() == weight.dim() - 1) {  // one image
    const int64_t first = 0;
    return squeeze(conv_norm(unsqueeze(input, 0), weight, bias, running_mean, running_var,
                             norm_weight, norm_bias, stride, padding, dilation, groups, eps, relu),
                   {&first, 1});
  }
  const bool batched = input.dim() == weight.dim() && weight.dim() >= 3;
  const bool floats = is_floating(input.dtype()) && is_floating(weight.dtype()) &&
                      (!bias || (bias.dtype() == weight.dtype() && bias.dim() == 1 &&
                                 bias.numel() == weight.size(0)));
  const bool folds =
      !norm.exists() || (batched && floats && norm.folds_into(weight) && Norm::pays(input, weight));
  if (!c.needs_grad() && floats && folds) {
    const auto activation = relu ? Activation::relu : Activation::none;
    if (!norm.exists()) return convolution(input, weight, bias, steps, activation);
    const Folded f = folded(weight, bias, norm);
    return convolution(input, f.weight, f.bias, steps, activation);
  }
  Tensor y = convolution(input, weight, bias, steps, Activation::none);
  if (norm.exists()) {
    y = batch_norm(y, running_mean, running_var, norm_weight, norm_bias, false, 0, eps);
  }
  return relu ? flambeau::ops::relu(y) : y;
}

}  // namespace flambeau::ops
