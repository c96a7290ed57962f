// Convolutions of half types in planes as products, on CUDA devices.
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/conv/conv_product_device.h"
#include "kernels/conv/conv_product_pairs.h"

namespace flambeau::FLAM_TARGET {

template <class T, ConvResult kResult, int kColumns>
  requires(sizeof(T) == 2)
struct ConvCopiesOf<ConvPlanes, T, kResult, kColumns> {
  using type = ConvPairCopies<T, kResult, kColumns>;
};

template <class T, ConvResult kResult> void register_pairs(Kernel& kernel) {
  kernel.add(kColumn, 0, dtype_of<T>,
             &conv_product_entry<T, kResult, ConvPlanes, kConvPairColumns>);
}

template <class T> bool register_pairs() {
  register_pairs<T, ConvResult::forward>(kConvPlanes);
  register_pairs<T, ConvResult::data>(kConvPlanesData);
  register_pairs<T, ConvResult::weight>(kConvPlanesWeight);
  return true;
}

[[maybe_unused]] static const bool registered_conv_pairs =
    register_pairs<Half>() && register_pairs<BFloat16>();

}  // namespace flambeau::FLAM_TARGET
#endif
