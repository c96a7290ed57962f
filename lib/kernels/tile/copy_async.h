// cp.async: 16 bytes from global to shared memory past the registers, in groups that a thread waits
// for; other threads see them after a barrier that follows. Every lane of a warp copies, one with
// nothing to copy 0 bytes. GPUs before 8.0 load and store at once.
#pragma once
#include "kernels/tile/load_matrix.h"
#include "kernels/tile/shared_access.h"

namespace flambeau::FLAM_TARGET {

// 16 bytes at `to`: the first `bytes` of them from `from`, zeros after. Both ends are aligned to
// 16; where `bytes` is 0, `from` is any address that may be read.
__device__ __forceinline__ void copy_async(void* to, const void* from, int bytes) {
#if defined(FLAM_EMU)
  ::cuda_on_cpu::copy_async(to, from, bytes);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  uint4 v = make_uint4(0, 0, 0, 0);
  if (bytes == 16) {
    v = *static_cast<const uint4*>(from);
  } else {
    unsigned char* part = reinterpret_cast<unsigned char*>(&v);
    for (int i = 0; i < 16; ++i)
      if (i < bytes) part[i] = static_cast<const unsigned char*>(from)[i];
  }
  store_shared(static_cast<uint4*>(to), v);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(bytes)
               : "memory");
#endif
}

// What this thread has begun since the last one becomes a group.
__device__ __forceinline__ void commit_copies() {
#if defined(FLAM_EMU)
  ::cuda_on_cpu::commit_copies();
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Until at most the kGroups last groups of this thread are under way.
template <int kGroups> __device__ __forceinline__ void wait_copies() {
#if defined(FLAM_EMU)
  ::cuda_on_cpu::wait_copies(kGroups);
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#endif
}

}  // namespace flambeau::FLAM_TARGET
