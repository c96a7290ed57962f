// The library's own layers: each is its parameters, its forward in ops, and how it prints.
#include "nn/layers.h"

#include "base/error.h"
#include "graph/mode.h"
#include "nn/blocks.h"

namespace flambeau::nn {

namespace {

class Linear final : public Module {
 public:
  Linear(int64_t in, int64_t out, bool bias, Device device, Dtype dtype)
      : Module("Linear"), in_(in), out_(out) {
    check(in >= 0 && out >= 0, Code::invalid_argument,
          "Linear: features must not be negative, got ", in, " and ", out);
    set_affine(*this, Dims{out, in}, bias ? std::optional(out) : std::nullopt, {device, dtype});
  }
  Tensor forward(TensorsView inputs) override {
    return ops::linear(only(*this, inputs), Module::parameter("weight"), parameter_or_none("bias"));
  }
  std::string extra_repr() const override {
    return cat_text("in_features=", in_, ", out_features=", out_,
                    ", bias=", truth(parameter_or_none("bias").defined()));
  }

 private:
  int64_t in_, out_;
};

class Prelu final : public Module {
 public:
  Prelu(int64_t count, double init, const Made& made) : Module("PReLU"), count_(count) {
    check(count >= 0, Code::invalid_argument, "PReLU: num_parameters must not be negative, got ",
          count);
    set_parameter("weight", filled(Dims{count}, init, made));
  }
  Tensor forward(TensorsView inputs) override {
    return ops::prelu(only(*this, inputs), Module::parameter("weight"));
  }
  std::string extra_repr() const override { return cat_text("num_parameters=", count_); }

 private:
  int64_t count_;
};

class Bilinear final : public Module {
 public:
  Bilinear(int64_t in1, int64_t in2, int64_t out, bool bias, const Made& made)
      : Module("Bilinear"), in1_(in1), in2_(in2), out_(out) {
    check(in1 > 0 && in2 >= 0 && out >= 0, Code::invalid_argument,
          "Bilinear: in1_features must be positive, and no size negative, got ",
          ShapeText{Dims{in1, in2, out}});
    set_parameter("weight", drawn(Dims{out, in1, in2}, in1, made));
    set_parameter("bias", bias ? drawn(Dims{out}, in1, made) : Tensor());
  }
  Tensor forward(TensorsView inputs) override {
    check(inputs.size() == 2, Code::invalid_argument, "Bilinear takes two inputs, got ",
          inputs.size());
    check_given(*this, inputs, {"input1", "input2"});
    return ops::bilinear(inputs[0], inputs[1], Module::parameter("weight"),
                         parameter_or_none("bias"));
  }
  std::string extra_repr() const override {
    return cat_text("in1_features=", in1_, ", in2_features=", in2_, ", out_features=", out_,
                    ", bias=", truth(parameter_or_none("bias").defined()));
  }

 private:
  int64_t in1_, in2_, out_;
};

class Sequential final : public Module {
 public:
  Sequential() : Module("Sequential") {}
  Tensor forward(TensorsView inputs) override {
    Tensor x = only(*this, inputs);
    for (size_t i = 0; i < children.size();) {  // a layer's forward may change the list
      const Ref<Module> layer = child(children[i++].first);
      Epilogue epilogue;
      const bool alone = modes.grad || layer->hooked() || !layer->takes_epilogue();
      const size_t joined = alone ? 0 : collect(i, epilogue);
      i += joined;
      x = joined ? layer->call_with(x, epilogue) : layer->call(x);
    }
    return x;
  }

 private:
  // How many layers from the i-th on are part of the pass.
  size_t collect(size_t i, Epilogue& epilogue) const {
    const size_t first = i;
    for (; i < children.size(); ++i) {
      const Ref<Module>& layer = children[i].second;
      if (!layer || layer->hooked() || !layer->joins(epilogue)) break;
    }
    return i - first;
  }
};

}  // namespace

Ref<Module> linear(int64_t in, int64_t out, bool bias, Device device, Dtype dtype) {
  return make_ref<Linear>(in, out, bias, device, dtype);
}

Ref<Module> prelu(int64_t num_parameters, double init, const Made& made) {
  return make_ref<Prelu>(num_parameters, init, made);
}

Ref<Module> bilinear(int64_t in1, int64_t in2, int64_t out, bool bias, const Made& made) {
  return make_ref<Bilinear>(in1, in2, out, bias, made);
}

Ref<Module> sequential() { return make_ref<Sequential>(); }

}  // namespace flambeau::nn
