// The elementwise pass of batch normalisation: operands beside x are one value per channel,
// repeated.
#include "ops/nn/norm.h"
#include "kernels/map/map_loop.h"

namespace flambeau::FLAM_TARGET {

struct ScaleShift {
  template <class V> FLAM_FN V operator()(V x, V scale, V shift) const { return x * scale + shift; }
};
FLAM_MAP(kScaleShift, ScaleShift, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
