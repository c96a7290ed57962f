// Convolutions and their transposes over one to three dimensions as one layer: the kernel's number
// of sizes says how many.
#include "base/error.h"
#include "flambeau/pad.h"
#include "nn/blocks.h"

namespace flambeau::nn {

namespace {

bool all_are(DimsView v, int64_t n) {
  for (int64_t x : v) {
    if (x != n) return false;
  }
  return true;
}

class Convolution final : public Module {
 public:
  Convolution(int64_t in, int64_t out, Dims kernel, ConvolutionOptions o)
      : Module(cat_text(o.transposed ? "ConvTranspose" : "Conv", kernel.size(), "d")),
        in_(in),
        out_(out),
        kernel_(std::move(kernel)),
        o_(std::move(o)) {
    check(o_.groups > 0 && in % o_.groups == 0 && out % o_.groups == 0, Code::invalid_argument,
          type, ": groups (", o_.groups, ") must divide in_channels (", in, ") and out_channels (",
          out, ")");
    Dims sizes = o_.transposed ? Dims{in, out / o_.groups} : Dims{out, in / o_.groups};
    for (int64_t k : kernel_) sizes.push_back(k);
    set_affine(*this, sizes, o_.bias ? std::optional(out) : std::nullopt, o_.made);
  }

  Tensor forward(TensorsView inputs) override {
    const Tensor& x = only(*this, inputs);
    const Tensor w = Module::parameter("weight"), b = parameter_or_none("bias");
    if (o_.transposed) return transposed(x, w, b);
    if (!repeats()) return convolved(x, w, b, o_.padding);
    Dims sides;
    for (size_t d = o_.padding.size(); d-- > 0;) {
      sides.push_back(o_.padding[d]);
      sides.push_back(o_.padding[d]);
    }
    return convolved(ops::pad(x, sides, o_.padding_mode), w, b, {});
  }

  bool takes_epilogue() const override { return !o_.transposed && !repeats(); }
  Tensor forward_with(const Tensor& x, const Epilogue& e) override {
    check_given(*this, x, "input");
    return ops::conv_norm(x, Module::parameter("weight"), parameter_or_none("bias"), e.mean, e.var,
                          e.weight, e.bias, o_.stride, o_.padding, o_.dilation, o_.groups, e.eps,
                          e.relu);
  }

  std::string extra_repr() const override {
    std::string s = cat_text(in_, ", ", out_, ", kernel_size=", tuple_text(kernel_),
                             ", stride=", tuple_text(o_.stride));
    if (!all_are(o_.padding, 0)) s += ", padding=" + tuple_text(o_.padding);
    if (!all_are(o_.dilation, 1)) s += ", dilation=" + tuple_text(o_.dilation);
    if (!all_are(o_.output_padding, 0)) s += ", output_padding=" + tuple_text(o_.output_padding);
    if (o_.groups != 1) s += cat_text(", groups=", o_.groups);
    if (!o_.bias) s += ", bias=False";
    if (repeats()) s += cat_text(", padding_mode=", mode_name());
    return s;
  }

 private:
  bool repeats() const {
    return o_.padding_mode != FLAM_PADDING_UNSPECIFIED && o_.padding_mode != FLAM_PADDING_CONSTANT;
  }
  const char* mode_name() const {
    return o_.padding_mode == FLAM_PADDING_REFLECT     ? "reflect"
           : o_.padding_mode == FLAM_PADDING_REPLICATE ? "replicate"
                                                       : "circular";
  }
  Tensor convolved(const Tensor& x, const Tensor& w, const Tensor& b, DimsView padding) const {
    const auto conv = kernel_.size() == 1   ? ops::conv1d
                      : kernel_.size() == 2 ? ops::conv2d
                                            : ops::conv3d;
    return conv(x, w, b, o_.stride, padding, o_.dilation, o_.groups);
  }
  Tensor transposed(const Tensor& x, const Tensor& w, const Tensor& b) const {
    const auto conv = kernel_.size() == 1   ? ops::conv_transpose1d
                      : kernel_.size() == 2 ? ops::conv_transpose2d
                                            : ops::conv_transpose3d;
    return conv(x, w, b, o_.stride, o_.padding, o_.output_padding, o_.groups, o_.dilation);
  }

  int64_t in_, out_;
  Dims kernel_;
  ConvolutionOptions o_;
};

}  // namespace

Ref<Module> convolution(int64_t in, int64_t out, DimsView kernel, const ConvolutionOptions& given) {
  const size_t spatial = kernel.size();
  check(spatial >= 1 && spatial <= 3, Code::invalid_argument,
        "a convolution's kernel_size has 1 to 3 values, got ", spatial);
  ConvolutionOptions o = given;
  const auto each = [&](const char* what, DimsView v, int64_t fallback, int64_t least) {
    return each_of(cat_text("Conv", spatial, "d"), what, v, spatial, fallback, least);
  };
  o.stride = each("stride", o.stride, 1, 1);
  o.padding = each("padding", o.padding, 0, 0);
  o.dilation = each("dilation", o.dilation, 1, 1);
  o.output_padding = each("output_padding", o.output_padding, 0, 0);
  check(!o.transposed || o.padding_mode <= FLAM_PADDING_CONSTANT, Code::invalid_argument,
        "Only the padding mode zeros is supported for ConvTranspose", spatial, "d");
  return make_ref<Convolution>(in, out, each("kernel_size", kernel, 1, 1), o);
}

}  // namespace flambeau::nn
