// Matrix products for every target: the blocked product of the host and the tiled one of CUDA
// devices.
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/gemm/gemm_device.h"
#else
#include "kernels/gemm/gemm_host.h"
#endif

namespace flambeau::FLAM_TARGET {

template <class... T> bool register_gemm(TypeList<T...>) {
  (kGemm.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &gemm_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_gemm = register_gemm(NumberTypes{});

}  // namespace flambeau::FLAM_TARGET
