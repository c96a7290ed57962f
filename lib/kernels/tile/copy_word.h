// cp.async of one word of 4 bytes, where neighbours in shared memory are none in global memory. It
// is waited for as those of 16 bytes are (copy_async.h).
#pragma once
#include "kernels/tile/copy_async.h"
#if defined(FLAM_EMU)
#include "word_copies.h"
#endif

namespace flambeau::FLAM_TARGET {

// A word at `to`: that at `from`, or 0. Both ends are aligned to 4; what is not copied may be read.
__device__ __forceinline__ void copy_word_async(void* to, const void* from, bool copies) {
#if defined(FLAM_EMU)
  ::cuda_on_cpu::copy_word_async(to, from, copies);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  store_shared(static_cast<uint32_t*>(to), copies ? *static_cast<const uint32_t*>(from) : 0u);
#else
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(copies ? 4 : 0)
               : "memory");
#endif
}

}  // namespace flambeau::FLAM_TARGET
