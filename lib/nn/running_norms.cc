// Normalisations that may keep running statistics: of batches and of instances.
#include "base/error.h"
#include "nn/blocks.h"
#include "nn/layers.h"

namespace flambeau::nn {

namespace {

class RunningNorm : public Module {
 protected:
  RunningNorm(const char* kind, int64_t features, int64_t spatial, const BatchNormOptions& o)
      : Module(cat_text(kind, spatial, "d")), o_(o), features_(features) {
    check(spatial >= 1 && spatial <= 3, Code::invalid_argument, kind,
          ": spatial must be 1, 2 or 3, got ", spatial);
    const Made made{o.device, o.dtype};
    const Dims sizes{features};
    set_parameter("weight", o.affine ? filled(sizes, 1, made) : Tensor());
    set_parameter("bias", o.affine ? filled(sizes, 0, made) : Tensor());
    const bool kept = o.track_running_stats;
    set_buffer("running_mean", kept ? ops::zeros(sizes, o.dtype, o.device) : Tensor());
    set_buffer("running_var", kept ? ops::ones(sizes, o.dtype, o.device) : Tensor());
    set_buffer("num_batches_tracked", kept ? ops::zeros(Dims{}, Dtype::i64, o.device) : Tensor());
  }
  std::string extra_repr() const override {
    return cat_text(features_, ", eps=", o_.eps, ", momentum=", o_.momentum,
                    ", affine=", truth(o_.affine), ", bias=", truth(o_.affine),
                    ", track_running_stats=", truth(o_.track_running_stats));
  }

  bool of_input() const { return training || !o_.track_running_stats; }
  BatchNormOptions o_;

 private:
  int64_t features_;
};

class BatchNorm final : public RunningNorm {
 public:
  BatchNorm(int64_t features, int64_t spatial, const BatchNormOptions& o)
      : RunningNorm("BatchNorm", features, spatial, o) {}
  Tensor forward(TensorsView inputs) override {
    const Tensor& x = only(*this, inputs);
    const Tensor mean = buffer_or_none("running_mean"), var = buffer_or_none("running_var");
    const Tensor weight = parameter_or_none("weight"), bias = parameter_or_none("bias");
    if (training && o_.track_running_stats) {
      const Tensor count = buffer("num_batches_tracked");
      if (count.device() != x.device()) {  // it may stay where it is
        ops::add_(count, wrapped_number(int64_t{1}));
        return ops::batch_norm(x, mean, var, weight, bias, true, o_.momentum, o_.eps);
      }
      return ops::batch_norm_tracked(x, count, mean, var, weight, bias, o_.momentum, o_.eps);
    }
    return ops::batch_norm(x, mean, var, weight, bias, of_input(), o_.momentum, o_.eps);
  }
  bool joins(Epilogue& e) const override {
    const Tensor mean = buffer_or_none("running_mean"), var = buffer_or_none("running_var");
    if (of_input() || e.mean || e.relu || !mean || !var) return false;
    e = {mean, var, parameter_or_none("weight"), parameter_or_none("bias"), o_.eps, false};
    return true;
  }
};

class InstanceNorm final : public RunningNorm {
 public:
  InstanceNorm(int64_t features, int64_t spatial, const BatchNormOptions& o)
      : RunningNorm("InstanceNorm", features, spatial, o), batched_(spatial + 2) {}
  Tensor forward(TensorsView inputs) override {
    const Tensor& x = only(*this, inputs);
    const bool alone = x.dim() == batched_ - 1;
    const Tensor y =
        ops::instance_norm(alone ? ops::unsqueeze(x, 0) : x, buffer_or_none("running_mean"),
                           buffer_or_none("running_var"), parameter_or_none("weight"),
                           parameter_or_none("bias"), of_input(), o_.momentum, o_.eps);
    return alone ? ops::squeeze(y, Dims{0}) : y;
  }

 private:
  int64_t batched_;
};

}  // namespace

Ref<Module> batch_norm(int64_t features, int64_t spatial, const BatchNormOptions& options) {
  return make_ref<BatchNorm>(features, spatial, options);
}

Ref<Module> instance_norm(int64_t features, int64_t spatial, const InstanceNormOptions& o) {
  return make_ref<InstanceNorm>(features, spatial,
                                BatchNormOptions{o.eps, o.momentum, o.affine, o.track_running_stats,
                                                 o.made.device, o.made.dtype});
}

}  // namespace flambeau::nn
