// The library's own layers.
#pragma once
#include "nn/parts.h"

namespace flambeau::nn {

struct BatchNormOptions {
  double eps = 1e-5, momentum = 0.1;
  bool affine = true, track_running_stats = true;
  Device device;
  Dtype dtype = Dtype::none;
};

Ref<Module> linear(int64_t in_features, int64_t out_features, bool bias, Device device,
                   Dtype dtype);
Ref<Module> batch_norm(int64_t num_features, int64_t spatial, const BatchNormOptions& options);
Ref<Module> prelu(int64_t num_parameters, double init, const Made& made);
Ref<Module> bilinear(int64_t in1, int64_t in2, int64_t out, bool bias, const Made& made);
Ref<Module> flatten(int64_t start_dim, int64_t end_dim);
Ref<Module> identity();
Ref<Module> softmin(int64_t dim);
Ref<Module> rrelu(double lower, double upper);
Ref<Module> feature_dropout(int64_t spatial, double p);
Ref<Module> pad(int64_t spatial, DimsView padding, int32_t mode, double value);
Ref<Module> max_unpool(DimsView kernel_size, DimsView stride, DimsView padding);
Ref<Module> sequential();

}  // namespace flambeau::nn
