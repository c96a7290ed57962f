// Convolutions of half types in planes as products, on CUDA devices: the products' kernel with the
// copies of conv_product_pairs.h, for f16 and bf16 alone. A block has kConvPairColumns columns,
// because values under way take registers. It is a file of its own, as that of f32 is, so that nvcc
// compiles them beside each other.
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
