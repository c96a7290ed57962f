// A kernel: one operation's machine code for every column (host, CUDA, emulated CUDA) and dtype.
// Kernels are constinit variables; `.kernel.cc` files fill their cells while the library loads. Of
// several host builds of one kernel the cell keeps that of the highest instruction set this
// processor has.
#pragma once
#include "base/dtype.h"
#include "device/runtime.h"

namespace flambeau {

struct Kernel {
  const char* name;
  Dtype result = Dtype::none;  // dtype of the output; none: that of the operands
  KernelFn cells[kKernelColumns][kComputedDtypes] = {};
  int8_t rank[kComputedDtypes] = {};  // instruction set rank of the host cell

  constexpr explicit Kernel(const char* n, Dtype r = Dtype::none) : name(n), result(r) {}
  void add(KernelColumn column, int isa_rank, Dtype dtype, KernelFn fn);
  // The cell for a device; throws "unsupported dtype" naming `op`.
  KernelFn find(const char* op, Device device, Dtype dtype) const;
};

// Rank of the best instruction set to use: 0 baseline, 1 AVX2 and FMA, 2 AVX-512, for which kernels
// are built; products of bfloat16 ask for more. FLAMBEAU_ISA caps it.
inline constexpr int kIsaPairs = 3;  // AVX-512's dot products of bfloat16
inline constexpr int kIsaTiles = 4;  // AMX's tiles of bfloat16
int isa_rank();

}  // namespace flambeau
