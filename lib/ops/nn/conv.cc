// Convolutions. Three maps are closed under differentiation: y = conv(x, w), the gradient by x and
// the gradient by w; each one's gradients are the other two, so second derivatives need nothing
// more.
#include "kernels/conv/conv.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/nn/conv.h"
#include "ops/ops.h"
#include "ops/scalar_name.h"
#include "tensor/order.h"

namespace flambeau::ops {

namespace {

constexpr Op kConvTransposeOp{"conv_transpose"};
constexpr Op kConvWeightGradientOp{"conv_weight_gradient"};
constexpr Op kConvolutionOp{"convolution"};

struct Form : ConvParams {
  bool channels_last = false;  // how results lie, gradients too
};

Tensor forward(const Tensor& x, const Tensor& w, const Tensor& bias, const Form& p,
               Activation activation = Activation::none);
Tensor data_gradient(const Tensor& dy, const Tensor& w, const Tensor& bias, DimsView x_sizes,
                     const Form& p);
Tensor weight_gradient(const Tensor& dy, const Tensor& x, DimsView w_sizes, const Form& p);

// Sum over images and positions: what a bias per channel receives.
Tensor per_channel(const Tensor& dy) {
  Dims over;
  for (int64_t d = 0; d < dy.dim(); ++d) {
    if (d != 1) over.push_back(d);
  }
  return sum(dy, over);
}

struct ConvBackward {
  Saved x, w;
  Form p;
  static constexpr auto name = "ConvolutionBackward0";
  Tensors operator()(const Tensor& dy) const {
    if (wanted(0) && wanted(1) && !modes.grad) return both(conv_operands(name, dy, x, w, p), dy);
    return {wanted(0) ? data_gradient(dy, w, {}, x.unchecked().sizes(), p) : Tensor(),
            wanted(1) ? weight_gradient(dy, x, w.unchecked().sizes(), p) : Tensor(),
            wanted(2) ? per_channel(dy) : Tensor()};
  }
  Tensors both(const ConvOperands& o, const Tensor& dy) const {
    return {data_gradient(o.dy, o.w, {}, o.x.sizes(), p),
            weight_gradient(o.dy, o.x, o.w.sizes(), p), wanted(2) ? per_channel(dy) : Tensor()};
  }
};

// What lies beyond the operand of a transposed convolution that padded its result by a stride.
Tensor cut(Tensor y, DimsView sizes) {
  for (size_t d = 2; d < sizes.size(); ++d) {
    if (y.sizes()[d] != sizes[d]) y = narrow(y, int64_t(d), 0, sizes[d]);
  }
  return y;
}

struct DataGradientBackward {
  Saved dy, w;
  Form p;
  static constexpr auto name = "ConvolutionBackward0";
  Tensors operator()(const Tensor& g) const {
    return {wanted(0) ? cut(forward(g, w, {}, p), dy.unchecked().sizes()) : Tensor(),
            wanted(1) ? weight_gradient(dy, g, w.unchecked().sizes(), p) : Tensor(),
            wanted(2) ? per_channel(g) : Tensor()};
  }
};

struct WeightGradientBackward {
  Saved dy, x;
  Form p;
  static constexpr auto name = "ConvolutionBackward0";
  Tensors operator()(const Tensor& g) const {
    return {wanted(0) ? cut(forward(x, g, {}, p), dy.unchecked().sizes()) : Tensor(),
            wanted(1) ? data_gradient(dy, g, {}, x.unchecked().sizes(), p) : Tensor()};
  }
};

Tensor forward(const Tensor& x, const Tensor& w, const Tensor& bias, const Form& p,
               Activation activation) {
  Call c{kConvolutionOp, {x, w, bias}};
  const Dims sizes = conv_sizes("convolution", c[0], c[1], p);
  Tensor y = c.output(sizes, c[0].dtype(), p.channels_last);
  run_conv("convolution", y, c[0], c[1], c[2], p, activation);
  return c.track(std::move(y), ConvBackward{c.save(c[0]), c.save(c[1]), p});
}

Tensor data_gradient(const Tensor& dy, const Tensor& w, const Tensor& bias, DimsView x_sizes,
                     const Form& p) {
  Call c{kConvTransposeOp, {dy, w, bias}};
  Tensor dx = c.output(x_sizes, c[0].dtype(), p.channels_last);
  run_conv_backward_data("conv_transpose", dx, c[0], c[1], c[2], p);
  return c.track(std::move(dx), DataGradientBackward{c.save(c[0]), c.save(c[1]), p});
}

Tensor weight_gradient(const Tensor& dy, const Tensor& x, DimsView w_sizes, const Form& p) {
  Call c{kConvWeightGradientOp, {dy, x}};
  Tensor dw = c.output(w_sizes, c[0].dtype(), p.channels_last);
  run_conv_backward_weight("conv_weight_gradient", dw, c[0], c[1], p);
  return c.track(std::move(dw), WeightGradientBackward{c.save(c[0]), c.save(c[1]), p});
}

struct Setting {
  const char* name;
  int64_t least;  // and what it is where none is given
  const char* refusal;
};
constexpr Setting kStride{"stride", 1, "non-positive stride is not supported"},
    kPadding{"padding", 0, "negative padding is not supported"},
    kDilation{"dilation", 1, "dilation should be greater than zero"},
    kOutputPadding{"output_padding", 0, "negative output_padding is not supported"};

// One value per spatial dimension from one for all, from none, or from as many.
Dims per_dimension(const char* op, const Setting& what, DimsView given, size_t spatial) {
  Dims out(spatial, given.empty() ? what.least : given[0]);
  if (given.size() > 1) {
    check(given.size() == spatial, Code::shape, op, ": ", what.name, " has ", given.size(),
          " values for ", spatial, " spatial dimensions");
    out = Dims(given);
  }
  for (int64_t v : out) {
    check(v >= what.least, Code::invalid_argument, op, ": ", what.refusal, ", but got ",
          ShapeText{out});
    check_extent(op, what.name, v);
  }
  return out;
}

struct Operands {
  Tensor x;
  bool batched;
};

Operands with_batch(const char* op, const Tensor& x, const Tensor& w, size_t spatial) {
  check(w.dim() == int64_t(spatial) + 2, Code::shape, op, ": weight must have ", spatial + 2,
        " dimensions, got ", w);
  const bool batched = x.dim() == int64_t(spatial) + 2;
  check(batched || x.dim() == int64_t(spatial) + 1, Code::shape, "Expected ", spatial + 1,
        "D (unbatched) or ", spatial + 2, "D (batched) input to ", op,
        ", but got input of size: ", ShapeText{x.sizes()});
  check(x.dtype() == w.dtype(), Code::dtype, op, ": expected scalar type ", scalar_name(x.dtype()),
        " but found ", scalar_name(w.dtype()),
        " for the weight. Convert it or the input with .to(dtype)");
  check(is_floating(x.dtype()), Code::dtype, op,
        ": input and weight must have one floating point dtype, got ", name_of(x.dtype()));
  return {batched ? x : unsqueeze(x, 0), batched};
}

// torch's rule: either operand decides, but for volumes of doubles.
bool lays_channels_last(const Tensor& x, const Tensor& w) {
  const bool depth = x.dtype() != Dtype::f64;
  return is_channels_last(x, depth) || is_channels_last(w, depth);
}

Form params(const char* op, size_t spatial, DimsView stride, DimsView padding, DimsView dilation,
            int64_t groups) {
  check(groups > 0, Code::invalid_argument, op, ": non-positive groups is not supported, got ",
        groups);
  return {{per_dimension(op, kStride, stride, spatial),
           per_dimension(op, kPadding, padding, spatial),
           per_dimension(op, kDilation, dilation, spatial), groups}};
}

bool are_whole(const Tensor& x, const Tensor& w, const Tensor& bias) {
  return x.dtype() == Dtype::i64 && w.dtype() == Dtype::i64 &&
         (!bias || bias.dtype() == Dtype::i64);
}

// Whole numbers as doubles, which hold those below 2^53; there is no kernel of their own.
Tensor widened(const Tensor& t) { return t ? to_dtype(t, Dtype::f64) : t; }

Tensor conv(const Op& op, size_t spatial, const Tensor& x, const Tensor& w, const Tensor& bias,
            DimsView stride, DimsView padding, DimsView dilation, int64_t groups,
            Activation activation = Activation::none) {
  if (are_whole(x, w, bias)) {
    return to_dtype(
        conv(op, spatial, widened(x), widened(w), widened(bias), stride, padding, dilation, groups),
        Dtype::i64);
  }
  Form p = params(op, spatial, stride, padding, dilation, groups);
  const Call c{op, {x, w, bias}};
  const Operands o = with_batch(op, c[0], c[1], spatial);
  p.channels_last = lays_channels_last(o.x, c[1]);
  const Tensor y = forward(o.x, c[1], c[2], p, activation);
  return o.batched ? y : squeeze(y, Dims{0});
}

Tensor transposed(const Op& op, const Tensor& x, const Tensor& w, const Tensor& bias,
                  DimsView output_padding, Form p) {
  if (are_whole(x, w, bias)) {
    const Tensor y = transposed(op, widened(x), widened(w), widened(bias), output_padding, p);
    return to_dtype(y, Dtype::i64);
  }
  const size_t spatial = p.stride.size();
  const Dims extra = per_dimension(op, kOutputPadding, output_padding, spatial);
  const Call c{op, {x, w, bias}};
  const Operands o = with_batch(op, c[0], c[1], spatial);
  check(o.x.size(1) == w.size(0), Code::shape, op, ": weight of size ", ShapeText{w.sizes()},
        " expects input with ", w.size(0), " channels, got ", x);
  check(w.size(0) % p.groups == 0, Code::shape, op, ": with groups ", p.groups,
        " the weight's first size must be a multiple of them, got ", w);
  p.channels_last = lays_channels_last(o.x, c[1]);
  Dims sizes{o.x.size(0), w.size(1) * p.groups};
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t steps = checked_mul(o.x.sizes()[d + 2] - 1, p.stride[d], op, ": stride");
    check_extent(op, "the extent of the strides", steps);
    sizes.push_back(steps - 2 * p.padding[d] + window_reach(op, w.sizes()[d + 2], p.dilation[d]) +
                    extra[d]);
    check(extra[d] < std::max(p.stride[d], p.dilation[d]), Code::invalid_argument, op,
          ": output padding must be smaller than either stride or dilation");
    check(o.x.sizes()[d + 2] > 0 && w.sizes()[d + 2] > 0 && sizes.back() > 0, Code::shape, op,
          ": the output would have ", sizes.back(), " elements in spatial dimension ", d,
          "; take less padding, or a larger input or kernel");
  }
  const Tensor y = data_gradient(o.x, c[1], c[2], sizes, p);
  return o.batched ? y : squeeze(y, Dims{0});
}

}  // namespace

Tensor convolution(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvSteps& s,
                   Activation activation) {
  const int64_t spatial = std::clamp<int64_t>(w.dim() - 2, 1, 3);
  const Op& op = spatial == 1 ? op::conv1d : spatial == 2 ? op::conv2d : op::conv3d;
  return conv(op, size_t(spatial), x, w, bias, s.stride, s.padding, s.dilation, s.groups,
              activation);
}

Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias, DimsView stride,
              DimsView padding, DimsView dilation, int64_t groups) {
  return conv(op::conv1d, 1, x, w, bias, stride, padding, dilation, groups);
}

Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, DimsView stride,
              DimsView padding, DimsView dilation, int64_t groups) {
  return conv(op::conv2d, 2, x, w, bias, stride, padding, dilation, groups);
}

Tensor conv3d(const Tensor& x, const Tensor& w, const Tensor& bias, DimsView stride,
              DimsView padding, DimsView dilation, int64_t groups) {
  return conv(op::conv3d, 3, x, w, bias, stride, padding, dilation, groups);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& w, const Tensor& bias, DimsView stride,
                        DimsView padding, DimsView output_padding, int64_t groups,
                        DimsView dilation) {
  return transposed(op::conv_transpose1d, x, w, bias, output_padding,
                    params(op::conv_transpose1d, 1, stride, padding, dilation, groups));
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& w, const Tensor& bias, DimsView stride,
                        DimsView padding, DimsView output_padding, int64_t groups,
                        DimsView dilation) {
  return transposed(op::conv_transpose2d, x, w, bias, output_padding,
                    params(op::conv_transpose2d, 2, stride, padding, dilation, groups));
}

Tensor conv_transpose3d(const Tensor& x, const Tensor& w, const Tensor& bias, DimsView stride,
                        DimsView padding, DimsView output_padding, int64_t groups,
                        DimsView dilation) {
  return transposed(op::conv_transpose3d, x, w, bias, output_padding,
                    params(op::conv_transpose3d, 3, stride, padding, dilation, groups));
}

}  // namespace flambeau::ops
