// Normalisations without a batch, and the table of embeddings.
#include "base/error.h"
#include "nn/blocks.h"
#include "nn/init.h"

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
    return ops::layer_norm(only(*this, inputs), shape_, Module::parameter("weight"),
                           Module::parameter("bias"), eps_);
  }
  std::string extra_repr() const override {
    return cat_text(tuple_text(shape_), ", eps=", eps_, ", elementwise_affine=", truth(affine_),
                    ", bias=", truth(Module::parameter("bias").defined()));
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
    return ops::rms_norm(only(*this, inputs), shape_, Module::parameter("weight"), eps_);
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
    return ops::group_norm(only(*this, inputs), groups_, Module::parameter("weight"),
                           Module::parameter("bias"), eps_);
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

class InstanceNorm final : public Module {
 public:
  InstanceNorm(int64_t features, int64_t spatial, double eps, bool affine, const Made& made)
      : Module(cat_text("InstanceNorm", spatial, "d")),
        features_(features),
        eps_(eps),
        affine_(affine) {
    check(spatial >= 1 && spatial <= 3, Code::invalid_argument,
          "InstanceNorm: spatial must be 1, 2 or 3, got ", spatial);
    set_parameter("weight", affine ? filled(Dims{features}, 1, made) : Tensor());
    set_parameter("bias", affine ? filled(Dims{features}, 0, made) : Tensor());
  }
  Tensor forward(TensorsView inputs) override {
    return ops::instance_norm(only(*this, inputs), {}, {}, Module::parameter("weight"),
                              Module::parameter("bias"), true, 0.1, eps_);
  }
  std::string extra_repr() const override {
    return cat_text(features_, ", eps=", eps_, ", momentum=0.1, affine=", truth(affine_),
                    ", bias=", truth(affine_), ", track_running_stats=False");
  }

 private:
  int64_t features_;
  double eps_;
  bool affine_;
};

class Embedding final : public Module {
 public:
  Embedding(int64_t count, int64_t size, std::optional<int64_t> padding_idx, const Made& made)
      : Module("Embedding"), count_(count), size_(size), padding_idx_(padding_idx) {
    check(count >= 0 && size >= 0, Code::invalid_argument,
          "Embedding: sizes must not be negative, got ", count, " and ", size);
    if (padding_idx_) {
      check(*padding_idx >= -count && *padding_idx < count, Code::invalid_argument,
            "Padding_idx must be within num_embeddings");
      if (*padding_idx < 0) padding_idx_ = *padding_idx + count;
    }
    const Tensor weight = ops::empty(Dims{count, size}, made.dtype, made.device);
    init_normal(weight, 0, 1, nullptr);
    if (padding_idx_) ops::zero_(ops::select(weight, 0, *padding_idx_));
    set_parameter("weight", trainable(weight));
  }
  Tensor forward(TensorsView inputs) override {
    return ops::embedding(only(*this, inputs), Module::parameter("weight"), padding_idx_);
  }
  std::string extra_repr() const override {
    return cat_text(count_, ", ", size_) +
           (padding_idx_ ? cat_text(", padding_idx=", *padding_idx_) : std::string());
  }

 private:
  int64_t count_, size_;
  std::optional<int64_t> padding_idx_;
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
Ref<Module> instance_norm(int64_t features, int64_t spatial, double eps, bool affine,
                          const Made& made) {
  return make_ref<InstanceNorm>(features, spatial, eps, affine, made);
}
Ref<Module> embedding(int64_t count, int64_t size, std::optional<int64_t> padding_idx,
                      const Made& made) {
  return make_ref<Embedding>(count, size, padding_idx, made);
}

}  // namespace flambeau::nn
