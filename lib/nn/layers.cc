// The library's own layers: each is its parameters, its forward in ops, and how it prints.
#include "nn/layers.h"

#include <cmath>

#include "base/error.h"
#include "nn/init.h"
#include "ops/ops.h"

namespace flambeau::nn {

namespace {

Tensor trainable(Tensor t) {
  autograd_data(t).requires_grad = true;
  return t;
}

// torch's default for weights and biases: uniform within 1 / sqrt(fan in). For a weight it equals
// kaiming_uniform_ with a = sqrt(5).
void init_default(const Tensor& t, int64_t fan_in) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(double(fan_in)) : 0;
  init_uniform(t, -bound, bound, nullptr);
}

// torch prints (3, 3); one number where both are equal and the layer is a pool.
std::string pair_text(DimsView v) { return cat_text("(", v[0], ", ", v[1], ")"); }
std::string short_text(DimsView v) { return v[0] == v[1] ? std::to_string(v[0]) : pair_text(v); }
const char* truth(bool b) { return b ? "True" : "False"; }

Dims pair_of(const char* layer, const char* what, DimsView v, int64_t least) {
  check(v.size() == 1 || v.size() == 2, Code::invalid_argument, layer, ": ", what,
        " takes one or two values, got ", v.size());
  const Dims out{v[0], v.size() == 2 ? v[1] : v[0]};
  check(out[0] >= least && out[1] >= least, Code::invalid_argument, layer, ": ", what,
        " must be at least ", least, ", got ", ShapeText{out});
  return out;
}

Dims or_value(DimsView v, int64_t fallback) { return v.empty() ? Dims{fallback} : Dims(v); }

const Tensor& only(const Module& m, TensorsView inputs) {
  check(inputs.size() == 1, Code::invalid_argument, m.type, " takes one input, got ",
        inputs.size());
  return inputs[0];
}

class Linear final : public Module {
 public:
  Linear(int64_t in, int64_t out, bool bias, Device device, Dtype dtype)
      : Module("Linear"), in_(in), out_(out) {
    check(in >= 0 && out >= 0, Code::invalid_argument,
          "Linear: features must not be negative, got ", in, " and ", out);
    const Tensor weight = ops::empty(Dims{out, in}, dtype, device);
    init_default(weight, in);
    set_parameter("weight", trainable(weight));
    Tensor b;
    if (bias) {
      b = ops::empty(Dims{out}, dtype, device);
      init_default(b, in);
      b = trainable(b);
    }
    set_parameter("bias", b);
  }
  Tensor forward(TensorsView inputs) override {
    return ops::linear(only(*this, inputs), Module::parameter("weight"), Module::parameter("bias"));
  }
  std::string extra_repr() const override {
    return cat_text("in_features=", in_, ", out_features=", out_,
                    ", bias=", truth(Module::parameter("bias").defined()));
  }

 private:
  int64_t in_, out_;
};

class Conv2d final : public Module {
 public:
  Conv2d(int64_t in, int64_t out, Dims kernel, const Conv2dOptions& o)
      : Module("Conv2d"), in_(in), out_(out), kernel_(std::move(kernel)), o_(o) {
    check(o.groups > 0 && in % o.groups == 0 && out % o.groups == 0, Code::invalid_argument,
          "Conv2d: groups (", o.groups, ") must divide in_channels (", in, ") and out_channels (",
          out, ")");
    const Tensor weight =
        ops::empty(Dims{out, in / o.groups, kernel_[0], kernel_[1]}, o.dtype, o.device);
    const int64_t fan_in = in / o.groups * kernel_[0] * kernel_[1];
    init_default(weight, fan_in);
    set_parameter("weight", trainable(weight));
    Tensor b;
    if (o.bias) {
      b = ops::empty(Dims{out}, o.dtype, o.device);
      init_default(b, fan_in);
      b = trainable(b);
    }
    set_parameter("bias", b);
  }
  Tensor forward(TensorsView inputs) override {
    return ops::conv2d(only(*this, inputs), Module::parameter("weight"), Module::parameter("bias"),
                       o_.stride, o_.padding, o_.dilation, o_.groups);
  }
  std::string extra_repr() const override {
    std::string s = cat_text(in_, ", ", out_, ", kernel_size=", pair_text(kernel_),
                             ", stride=", pair_text(o_.stride));
    if (o_.padding[0] || o_.padding[1]) s += ", padding=" + pair_text(o_.padding);
    if (o_.dilation[0] != 1 || o_.dilation[1] != 1) s += ", dilation=" + pair_text(o_.dilation);
    if (o_.groups != 1) s += cat_text(", groups=", o_.groups);
    if (!o_.bias) s += ", bias=False";
    return s;
  }

 private:
  int64_t in_, out_;
  Dims kernel_;
  Conv2dOptions o_;
};

class BatchNorm final : public Module {
 public:
  BatchNorm(int64_t features, int64_t spatial, const BatchNormOptions& o)
      : Module(cat_text("BatchNorm", spatial, "d")), features_(features), o_(o) {
    check(spatial >= 1 && spatial <= 3, Code::invalid_argument,
          "BatchNorm: spatial must be 1, 2 or 3, got ", spatial);
    const Dims sizes{features};
    Tensor weight, bias, mean, var, count;
    if (o.affine) {
      weight = trainable(ops::ones(sizes, o.dtype, o.device));
      bias = trainable(ops::zeros(sizes, o.dtype, o.device));
    }
    if (o.track_running_stats) {
      mean = ops::zeros(sizes, o.dtype, o.device);
      var = ops::ones(sizes, o.dtype, o.device);
      count = ops::zeros(Dims{}, Dtype::i64, o.device);
    }
    set_parameter("weight", weight);
    set_parameter("bias", bias);
    set_buffer("running_mean", mean);
    set_buffer("running_var", var);
    set_buffer("num_batches_tracked", count);
  }
  Tensor forward(TensorsView inputs) override {
    if (training && o_.track_running_stats)
      ops::add_(buffer("num_batches_tracked"), wrapped_number(int64_t{1}));
    const bool batch = training || !o_.track_running_stats;
    return ops::batch_norm(only(*this, inputs), buffer("running_mean"), buffer("running_var"),
                           Module::parameter("weight"), Module::parameter("bias"), batch,
                           o_.momentum, o_.eps);
  }
  std::string extra_repr() const override {
    return cat_text(features_, ", eps=", number(o_.eps), ", momentum=", number(o_.momentum),
                    ", affine=", truth(o_.affine),
                    ", track_running_stats=", truth(o_.track_running_stats));
  }

 private:
  // As Python writes it: 1e-05 and 0.1.
  static std::string number(double v) { return cat_text(v); }
  int64_t features_;
  BatchNormOptions o_;
};

class Dropout final : public Module {
 public:
  explicit Dropout(double p) : Module("Dropout"), p_(p) {
    check(p >= 0 && p <= 1, Code::invalid_argument,
          "dropout probability has to be between 0 and 1, but got ", p);
  }
  Tensor forward(TensorsView inputs) override {
    return ops::dropout(only(*this, inputs), p_, training);
  }
  std::string extra_repr() const override { return cat_text("p=", p_, ", inplace=False"); }

 private:
  double p_;
};

class Pool2d final : public Module {
 public:
  Pool2d(bool max, Dims kernel, Dims stride, Dims padding)
      : Module(max ? "MaxPool2d" : "AvgPool2d"),
        max_(max),
        kernel_(kernel),
        stride_(stride),
        padding_(padding) {}
  Tensor forward(TensorsView inputs) override {
    const Tensor& x = only(*this, inputs);
    return max_ ? ops::max_pool2d(x, kernel_, stride_, padding_)
                : ops::avg_pool2d(x, kernel_, stride_, padding_);
  }
  std::string extra_repr() const override {
    std::string s = cat_text("kernel_size=", short_text(kernel_), ", stride=", short_text(stride_),
                             ", padding=", short_text(padding_));
    return max_ ? s + ", dilation=1, ceil_mode=False" : s;
  }

 private:
  bool max_;
  Dims kernel_, stride_, padding_;
};

class Flatten final : public Module {
 public:
  Flatten(int64_t start, int64_t end) : Module("Flatten"), start_(start), end_(end) {}
  Tensor forward(TensorsView inputs) override {
    return ops::flatten(only(*this, inputs), start_, end_);
  }
  std::string extra_repr() const override {
    return cat_text("start_dim=", start_, ", end_dim=", end_);
  }

 private:
  int64_t start_, end_;
};

struct ActivationRow {
  ActivationKind kind;
  const char* type;
  const char* extra;
  Tensor (*apply)(const Tensor&);
};
constexpr ActivationRow kActivations[] = {
    {ActivationKind::relu, "ReLU", "", [](const Tensor& x) { return ops::relu(x); }},
    {ActivationKind::sigmoid, "Sigmoid", "", [](const Tensor& x) { return ops::sigmoid(x); }},
    {ActivationKind::tanh, "Tanh", "", [](const Tensor& x) { return ops::tanh(x); }},
    {ActivationKind::gelu, "GELU", "approximate='none'",
     [](const Tensor& x) { return ops::gelu(x); }},
    {ActivationKind::silu, "SiLU", "", [](const Tensor& x) { return ops::silu(x); }},
    {ActivationKind::identity, "Identity", "", [](const Tensor& x) { return x; }}};

class ActivationLayer final : public Module {
 public:
  explicit ActivationLayer(const ActivationRow& row) : Module(row.type), row_(row) {}
  Tensor forward(TensorsView inputs) override { return row_.apply(only(*this, inputs)); }
  std::string extra_repr() const override { return row_.extra; }

 private:
  const ActivationRow& row_;
};

class Sequential final : public Module {
 public:
  Sequential() : Module("Sequential") {}
  Tensor forward(TensorsView inputs) override {
    Tensor x = only(*this, inputs);
    for (const auto& [name, child] : children) x = child->call(x);
    return x;
  }
};

}  // namespace

Ref<Module> linear(int64_t in, int64_t out, bool bias, Device device, Dtype dtype) {
  return make_ref<Linear>(in, out, bias, device, dtype);
}

Ref<Module> conv2d(int64_t in, int64_t out, DimsView kernel_size, const Conv2dOptions& options) {
  Conv2dOptions o = options;
  o.stride = pair_of("Conv2d", "stride", or_value(o.stride, 1), 1);
  o.padding = pair_of("Conv2d", "padding", or_value(o.padding, 0), 0);
  o.dilation = pair_of("Conv2d", "dilation", or_value(o.dilation, 1), 1);
  return make_ref<Conv2d>(in, out, pair_of("Conv2d", "kernel_size", kernel_size, 1), o);
}

Ref<Module> batch_norm(int64_t features, int64_t spatial, const BatchNormOptions& options) {
  return make_ref<BatchNorm>(features, spatial, options);
}

Ref<Module> dropout(double p) { return make_ref<Dropout>(p); }

static Ref<Module> pool2d(const char* layer, bool max, DimsView kernel_size, DimsView stride,
                          DimsView padding) {
  const Dims kernel = pair_of(layer, "kernel_size", kernel_size, 1);
  return make_ref<Pool2d>(max, kernel,
                          stride.empty() ? kernel : pair_of(layer, "stride", stride, 1),
                          pair_of(layer, "padding", or_value(padding, 0), 0));
}

Ref<Module> max_pool2d(DimsView kernel_size, DimsView stride, DimsView padding) {
  return pool2d("MaxPool2d", true, kernel_size, stride, padding);
}

Ref<Module> avg_pool2d(DimsView kernel_size, DimsView stride, DimsView padding) {
  return pool2d("AvgPool2d", false, kernel_size, stride, padding);
}

Ref<Module> flatten(int64_t start_dim, int64_t end_dim) {
  return make_ref<Flatten>(start_dim, end_dim);
}

Ref<Module> activation(ActivationKind kind) {
  for (const ActivationRow& row : kActivations) {
    if (row.kind == kind) return make_ref<ActivationLayer>(row);
  }
  fail(Code::invalid_argument, "unknown activation ", int(kind));
}

Ref<Module> sequential() { return make_ref<Sequential>(); }

}  // namespace flambeau::nn
