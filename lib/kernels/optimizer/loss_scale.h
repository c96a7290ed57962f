// The factor on losses after a step, on the device: smaller where gradients were not finite, larger
// after an interval of steps that all were.
#pragma once
#include "kernels/access.h"

namespace flambeau {

struct LossScaleArgs {
  float* scale;
  int64_t* finite_steps;  // since the factor changed last
  const float* found_inf;
  double growth, backoff;
  int64_t interval;
};

// All three 0-d on one device: f32, i64, f32.
void run_update_scale(const Tensor& scale, const Tensor& finite_steps, const Tensor& found_inf,
                      double growth, double backoff, int64_t interval);

extern constinit Kernel kUpdateScale;

}  // namespace flambeau
