// Convolutions for every target: on the host tiles that read images where they lie, or Winograd's
// transforms; on CUDA devices products of tiles, or gathering kernels for what these do not serve.
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/conv/conv_device.h"
#include "kernels/conv/conv_product_device.h"
#else
#include "kernels/conv/conv_host.h"
#endif

namespace flambeau::FLAM_TARGET {

template <class... T> bool register_conv(TypeList<T...>) {
  (kConv.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &conv_entry<T>), ...);
  (kConvBackwardData.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &conv_data_entry<T>), ...);
  (kConvBackwardWeight.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &conv_weight_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_conv = register_conv(FloatTypes{});

#if defined(FLAM_DEVICE_SOURCE)
template <ConvResult kResult> void register_product(Kernel& kernel) {
  kernel.add(kColumn, 0, Dtype::f32, &conv_product_entry<float, kResult, ConvProduct>);
  kernel.add(kColumn, 0, Dtype::f16, &conv_product_entry<Half, kResult, ConvProduct>);
  kernel.add(kColumn, 0, Dtype::bf16, &conv_product_entry<BFloat16, kResult, ConvProduct>);
}

[[maybe_unused]] static const bool registered_conv_products =
    (register_product<ConvResult::forward>(kConvProduct),
     register_product<ConvResult::data>(kConvProductData),
     register_product<ConvResult::weight>(kConvProductWeight), true);
#endif

}  // namespace flambeau::FLAM_TARGET
