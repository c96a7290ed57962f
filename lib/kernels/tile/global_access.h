// Loads and stores of up to 16 bytes in global memory. The emulation counts what they move.
#pragma once
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class V> __device__ __forceinline__ V load_global(const V* p) {
#if defined(FLAM_EMU)
  ::cuda_on_cpu::touch_global(p, int(sizeof(V)), false);
#endif
  return *p;
}

template <class V> __device__ __forceinline__ void store_global(V* p, const V& v) {
#if defined(FLAM_EMU)
  ::cuda_on_cpu::touch_global(p, int(sizeof(V)), true);
#endif
  *p = v;
}

}  // namespace flambeau::FLAM_TARGET
