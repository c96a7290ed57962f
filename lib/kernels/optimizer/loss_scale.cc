// Launches the update of a loss scale.
#include "kernels/optimizer/loss_scale.h"

namespace flambeau {

constinit Kernel kUpdateScale{"update_scale"};

void run_update_scale(const Tensor& scale, const Tensor& finite_steps, const Tensor& found_inf,
                      double growth, double backoff, int64_t interval) {
  const LossScaleArgs args{scale.data_as<float>(),
                           finite_steps.data_as<int64_t>(),
                           found_inf.data_as<float>(),
                           growth,
                           backoff,
                           interval};
  const KernelFn fn = kUpdateScale.find("update_scale", scale.device(), Dtype::f32);
  launch_kernel("update_scale", fn, scale.device(), args,
                {writes(scale), writes(finite_steps), reads(found_inf)});
}

}  // namespace flambeau
