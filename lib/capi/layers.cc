// Layers at the ABI.
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

Ref<flam_module> nn_dropout(double p) { return nn::dropout(p); }

Ref<flam_module> nn_max_pool2d(DimsView kernel_size, DimsView stride, DimsView padding) {
  return nn::max_pool2d(kernel_size, stride, padding);
}

Ref<flam_module> nn_avg_pool2d(DimsView kernel_size, DimsView stride, DimsView padding) {
  return nn::avg_pool2d(kernel_size, stride, padding);
}

Ref<flam_module> nn_flatten(int64_t start_dim, int64_t end_dim) {
  return nn::flatten(start_dim, end_dim);
}

Ref<flam_module> nn_activation(int32_t kind) { return nn::activation(nn::ActivationKind(kind)); }

Ref<flam_module> nn_sequential() { return nn::sequential(); }

void module_append(flam_module* m, flam_module* child) {
  size_t next = m->children.size();
  while (m->children.find(std::to_string(next))) ++next;
  m->set_child(std::to_string(next), Ref<flam_module>::share(child));
}

}  // namespace flambeau::capi
