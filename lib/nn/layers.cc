// The library's own layers: each is its parameters, its forward in ops, and how it prints.
#include "nn/layers.h"

#include "base/error.h"
#include "nn/blocks.h"

namespace flambeau::nn {

namespace {

// torch prints (3, 3); one number where both are equal and the layer is a pool.
std::string pair_text(DimsView v) { return cat_text("(", v[0], ", ", v[1], ")"); }
std::string short_text(DimsView v) { return v[0] == v[1] ? std::to_string(v[0]) : pair_text(v); }

Dims pair_of(const char* layer, const char* what, DimsView v, int64_t least) {
  check(v.size() == 1 || v.size() == 2, Code::invalid_argument, layer, ": ", what,
        " takes one or two values, got ", v.size());
  const Dims out{v[0], v.size() == 2 ? v[1] : v[0]};
  check(out[0] >= least && out[1] >= least, Code::invalid_argument, layer, ": ", what,
        " must be at least ", least, ", got ", ShapeText{out});
  return out;
}

Dims or_value(DimsView v, int64_t fallback) { return v.empty() ? Dims{fallback} : Dims(v); }

class Linear final : public Module {
 public:
  Linear(int64_t in, int64_t out, bool bias, Device device, Dtype dtype)
      : Module("Linear"), in_(in), out_(out) {
    check(in >= 0 && out >= 0, Code::invalid_argument,
          "Linear: features must not be negative, got ", in, " and ", out);
    const Made made{device, dtype};
    set_parameter("weight", drawn(Dims{out, in}, in, made));
    set_parameter("bias", bias ? drawn(Dims{out}, in, made) : Tensor());
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
                    ", affine=", truth(o_.affine), ", bias=", truth(o_.affine),
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
    for (size_t i = 0; i < children.size(); ++i) {  // a layer's forward may change the list
      const auto [name, child] = children[i];
      check(bool(child), Code::invalid_argument, "Sequential: child \"", name,
            "\" is no module; remove it, or set one");
      x = child->call(x);
    }
    return x;
  }
};

}  // namespace

Ref<Module> linear(int64_t in, int64_t out, bool bias, Device device, Dtype dtype) {
  return make_ref<Linear>(in, out, bias, device, dtype);
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
