// A store of 16 bytes to global memory that stays one instruction. The emulation counts it as any
// other. Where sums come out of a loop, nvcc 13.0 makes four stores of four bytes of an assignment,
// which take four times the instructions for the same sectors.
#pragma once
#include "kernels/tile/global_access.h"

namespace flambeau::FLAM_TARGET {

// `to` is in global memory and aligned to 16.
__device__ __forceinline__ void store_wide(void* to, const uint32_t (&word)[4]) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
               : "memory");
#else
  store_global(static_cast<uint4*>(to), uint4{word[0], word[1], word[2], word[3]});
#endif
}

}  // namespace flambeau::FLAM_TARGET
