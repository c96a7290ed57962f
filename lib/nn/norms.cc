// Normalisations without a batch.
#include "base/error.h"
#include "nn/blocks.h"

namespace flambeau::nn {

namespace {

class LayerNorm final : public Module {
 public:
  LayerNorm(DimsView shape, double eps, bool affine, bool bias, const Made& made)
      : Module("LayerNorm"), shape_(shape), eps_(eps), affine_(affine) {
    set_parameter("weight", affine ? filled(shape, 1, made) : Tensor());
    set_parameter("bias", affine && bias ? filled(shape, 0, made) : Tensor());
  }
  Tensor forward(TensorsView inputs) override {
    return ops::layer_norm(only(*this, inputs), shape_, parameter_or_none("weight"),
                           parameter_or_none("bias"), eps_);
  }
  std::string extra_repr() const override {
    return cat_text(tuple_text(shape_), ", eps=", eps_, ", elementwise_affine=", truth(affine_),
                    ", bias=", truth(parameter_or_none("bias").defined()));
  }

 private:
  Dims shape_;
  double eps_;
  bool affine_;
};

class RmsNorm final : public Module {
 public:
  RmsNorm(DimsView shape, std::optional<double> eps, bool affine, const Made& made)
      : Module("RMSNorm"), shape_(shape), eps_(eps), affine_(affine) {
    set_parameter("weight", affine ? filled(shape, 1, made) : Tensor());
  }
  Tensor forward(TensorsView inputs) override {
    return ops::rms_norm(only(*this, inputs), shape_, parameter_or_none("weight"), eps_);
  }
  std::string extra_repr() const override {
    return cat_text(tuple_text(shape_), ", eps=", eps_ ? cat_text(*eps_) : std::string("None"),
                    ", elementwise_affine=", truth(affine_));
  }

 private:
  Dims shape_;
  std::optional<double> eps_;
  bool affine_;
};

class GroupNorm final : public Module {
 public:
  GroupNorm(int64_t groups, int64_t channels, double eps, bool affine, const Made& made)
      : Module("GroupNorm"), groups_(groups), channels_(channels), eps_(eps), affine_(affine) {
    check(groups > 0 && channels % groups == 0, Code::invalid_argument, "num_channels (", channels,
          ") must be divisible by num_groups (", groups, ")");
    set_parameter("weight", affine ? filled(Dims{channels}, 1, made) : Tensor());
    set_parameter("bias", affine ? filled(Dims{channels}, 0, made) : Tensor());
  }
  Tensor forward(TensorsView inputs) override {
    return ops::group_norm(only(*this, inputs), groups_, parameter_or_none("weight"),
                           parameter_or_none("bias"), eps_);
  }
  std::string extra_repr() const override {
    return cat_text(groups_, ", ", channels_, ", eps=", eps_, ", affine=", truth(affine_),
                    ", bias=", truth(affine_));
  }

 private:
  int64_t groups_, channels_;
  double eps_;
  bool affine_;
};

}  // namespace

Ref<Module> layer_norm(DimsView shape, double eps, bool affine, bool bias, const Made& made) {
  return make_ref<LayerNorm>(shape, eps, affine, bias, made);
}
Ref<Module> rms_norm(DimsView shape, std::optional<double> eps, bool affine, const Made& made) {
  return make_ref<RmsNorm>(shape, eps, affine, made);
}
Ref<Module> group_norm(int64_t groups, int64_t channels, double eps, bool affine,
                       const Made& made) {
  return make_ref<GroupNorm>(groups, channels, eps, affine, made);
}
}  // namespace flambeau::nn
