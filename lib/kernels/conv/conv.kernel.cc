// Convolutions for every target: on the host tiles that read images where they lie, or Winograd's
// transforms; gathering kernels on CUDA devices.
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/conv/conv_device.h"
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

}  // namespace flambeau::FLAM_TARGET
