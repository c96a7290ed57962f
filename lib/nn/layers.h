// The library's own layers.
#pragma once
#include "nn/module.h"

namespace flambeau::nn {

struct BatchNormOptions {
  double eps = 1e-5, momentum = 0.1;
  bool affine = true, track_running_stats = true;
  Device device;
  Dtype dtype = Dtype::none;
};

enum class ActivationKind : int32_t { unspecified, relu, sigmoid, tanh, gelu, silu, identity };

Ref<Module> linear(int64_t in_features, int64_t out_features, bool bias, Device device,
                   Dtype dtype);
Ref<Module> batch_norm(int64_t num_features, int64_t spatial, const BatchNormOptions& options);
Ref<Module> dropout(double p);
Ref<Module> max_pool2d(DimsView kernel_size, DimsView stride, DimsView padding);
Ref<Module> avg_pool2d(DimsView kernel_size, DimsView stride, DimsView padding);
Ref<Module> flatten(int64_t start_dim, int64_t end_dim);
Ref<Module> activation(ActivationKind kind);
Ref<Module> sequential();

}  // namespace flambeau::nn
