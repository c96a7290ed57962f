// ldmatrix: four 8 x 8 matrices of two-byte elements from shared memory into the fragments of a
// warp. Lane 8 i + j gives the address of row j of matrix i, aligned to 16 bytes; register i gets
// matrix i, or its transpose. Rows of four 4-byte elements serve as well, not transposed.
#pragma once
#include <cstdint>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

#if !defined(FLAM_EMU)
__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return uint32_t(__cvta_generic_to_shared(p));
}
#endif

template <bool kTurned>
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void* row) {
#if defined(FLAM_EMU)
  ::cuda_on_cpu::load_matrices(r, row, kTurned);
#else
  // The memory is named, for another thread wrote there, and the barrier in between is one to the
  // compiler for what it sees as accesses alone.
  if constexpr (kTurned) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
  }
#endif
}

}  // namespace flambeau::FLAM_TARGET
