// Targets of layers.h: each names its arguments' types for the layer of lib/nn that checks them.
#include "nn/layers.h"

#include "capi/gen/targets.h"

namespace flambeau::capi {

Ref<flam_module> nn_linear(int64_t in, int64_t out, bool bias, Dtype dtype, Device device) {
  return nn::linear(in, out, bias, device, dtype);
}

Ref<flam_module> nn_batch_norm(int64_t features, int64_t spatial, double eps, double momentum,
                               bool affine, bool track_running_stats, Dtype dtype, Device device) {
  return nn::batch_norm(features, spatial,
                        {eps, momentum, affine, track_running_stats, device, dtype});
}

Ref<flam_module> nn_flatten(int64_t start_dim, int64_t end_dim) {
  return nn::flatten(start_dim, end_dim);
}

Ref<flam_module> nn_identity() { return nn::identity(); }

Ref<flam_module> nn_softmin(int64_t dim) { return nn::softmin(dim); }

Ref<flam_module> nn_rrelu(double lower, double upper) { return nn::rrelu(lower, upper); }

Ref<flam_module> nn_feature_dropout(int64_t spatial, double p) {
  return nn::feature_dropout(spatial, p);
}

Ref<flam_module> nn_pad(int64_t spatial, DimsView padding, int32_t mode, double value) {
  return nn::pad(spatial, padding, mode, value);
}

Ref<flam_module> nn_max_unpool(DimsView kernel_size, DimsView stride, DimsView padding) {
  return nn::max_unpool(kernel_size, stride, padding);
}

Ref<flam_module> nn_prelu(int64_t num_parameters, double init, Dtype dtype, Device device) {
  return nn::prelu(num_parameters, init, {device, dtype});
}

Ref<flam_module> nn_bilinear(int64_t in1, int64_t in2, int64_t out, bool bias, Dtype dtype,
                             Device device) {
  return nn::bilinear(in1, in2, out, bias, {device, dtype});
}

Ref<flam_module> nn_sequential() { return nn::sequential(); }

void module_append(flam_module* m, flam_module* child) {
  size_t next = m->children.size();
  while (m->children.find(std::to_string(next))) ++next;
  m->set_child(std::to_string(next), Ref<flam_module>::share(child));
}

}  // namespace flambeau::capi
