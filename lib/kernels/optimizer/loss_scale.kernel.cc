// One element, one thread: torch's rule for the loss scale. It grows only while it stays finite.
#include "kernels/optimizer/loss_scale.h"

#include "kernels/math.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
#endif

namespace flambeau::FLAM_TARGET {

FLAM_FN void update_scale(const LossScaleArgs& a) {
  if (*a.found_inf != 0) {
    *a.scale = float(double(*a.scale) * a.backoff);
    *a.finite_steps = 0;
    return;
  }
  const int64_t steps = *a.finite_steps + 1;
  *a.finite_steps = steps == a.interval ? 0 : steps;
  if (steps != a.interval) return;
  const float grown = float(double(*a.scale) * a.growth);
  if (grown - grown == 0) *a.scale = grown;
}

#if defined(FLAM_DEVICE_SOURCE)

__global__ void update_scale_kernel(LossScaleArgs a) {
  if (threadIdx.x == 0) update_scale(a);
}

inline void update_scale_entry(void* stream, const void* p) {
  const LossScaleArgs& a = *static_cast<const LossScaleArgs*>(p);
  FLAM_LAUNCH((update_scale_kernel), dim3(1), dim3(1), 0, stream, a);
}

#else

inline void update_scale_entry(void*, const void* p) {
  update_scale(*static_cast<const LossScaleArgs*>(p));
}

#endif

[[maybe_unused]] static const bool registered_update_scale =
    (kUpdateScale.add(kColumn, FLAM_ISA_RANK, Dtype::f32, &update_scale_entry), true);

}  // namespace flambeau::FLAM_TARGET
