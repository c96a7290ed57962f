// Convolutions of f32 in planes as products, on CUDA devices.
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/conv/conv_product_device.h"
#include "kernels/conv/conv_product_planes.h"

namespace flambeau::FLAM_TARGET {

template <ConvResult kResult, int kColumns>
struct ConvCopiesOf<ConvPlanes, float, kResult, kColumns> {
  using type = ConvPlaneCopies<kResult, kColumns>;
};

template <ConvResult kResult> bool register_planes(Kernel& kernel) {
  kernel.add(kColumn, 0, Dtype::f32, &conv_product_entry<float, kResult, ConvPlanes>);
  return true;
}

[[maybe_unused]] static const bool registered_conv_planes =
    register_planes<ConvResult::forward>(kConvPlanes) &&
    register_planes<ConvResult::data>(kConvPlanesData) &&
    register_planes<ConvResult::weight>(kConvPlanesWeight);

}  // namespace flambeau::FLAM_TARGET
#endif
