// A kernel that does nothing: whether CUDA finds code for a device is asked of it. The emulation of
// kernels on the host has no use for it.
#if !defined(FLAM_EMU)
#include "device/cuda/availability.h"

namespace flambeau::cuda {
namespace {

__global__ void probe() {}

}  // namespace

cudaError_t probe_kernel_image() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, probe);
}

}  // namespace flambeau::cuda
#endif
