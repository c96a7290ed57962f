// Loads and stores of 4, 8 or 16 bytes in shared memory that all lanes of a warp make together. The
// emulation counts their conflicts of banks.
#pragma once
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class V> __device__ __forceinline__ V load_shared(const V* p) {
#if defined(FLAM_EMU)
  ::cuda_on_cpu::touch_shared(p, int(sizeof(V)));
#endif
  return *p;
}

template <class V> __device__ __forceinline__ void store_shared(V* p, const V& v) {
#if defined(FLAM_EMU)
  ::cuda_on_cpu::touch_shared(p, int(sizeof(V)));
#endif
  *p = v;
}

}  // namespace flambeau::FLAM_TARGET
