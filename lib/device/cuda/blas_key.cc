// See blas_key.h.
#include "device/cuda/blas_key.h"

#include <algorithm>
#include <bit>

namespace flambeau::cuda {

uint32_t alignment_of(const void* address) {
  constexpr uintptr_t most = 256;
  const uintptr_t a = reinterpret_cast<uintptr_t>(address) | most;
  return uint32_t(a & -a);
}

BlasKey key_of(const hal::SlopedMatmul& p, int device) {
  const bool has_c = p.c.data && p.beta != 0;
  const hal::Matmul::Operand c = has_c ? p.c : hal::Matmul::Operand{};
  uint64_t aligned = 0;
  for (const void* data : {p.out.data, p.a.data, p.b.data, c.data, p.row_sums, p.gelu_input.data})
    aligned = aligned << 4 | uint64_t(std::countr_zero(alignment_of(data)));
  // Whether c is a bias depends on the last two.
  const bool flags[] = {p.row_sums != nullptr, p.gelu_input.data != nullptr, p.relu, p.tf32, has_c,
                        has_c && p.beta == 1,  c.data == p.out.data};
  uint64_t said = uint64_t(device) << 16 | uint64_t(p.dtype);
  for (const bool flag : flags) said = said << 1 | uint64_t(flag);
  return {p.m,          p.n,     p.k,     p.batches, p.out.row,        p.out.col,
          p.out.batch,  p.a.row, p.a.col, p.a.batch, p.b.row,          p.b.col,
          p.b.batch,    c.row,   c.col,   c.batch,   p.gelu_input.row, int64_t(aligned),
          int64_t(said)};
}

}  // namespace flambeau::cuda
