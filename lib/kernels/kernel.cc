// Choosing between builds of a kernel.
#include "kernels/kernel.h"

#include <algorithm>

#include "base/error.h"
#include "base/setting.h"

namespace flambeau {

static int detect_isa() {
  int rank = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) rank = 1;
  if (rank && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    rank = 2;
  }
#endif
  if (setting_has("FLAMBEAU_ISA", "sse2")) rank = 0;
  if (setting_has("FLAMBEAU_ISA", "avx2")) rank = std::min(rank, 1);
  return rank;
}

int isa_rank() {
  static const int rank = detect_isa();
  return rank;
}

void Kernel::add(KernelColumn column, int isa, Dtype dtype, KernelFn fn) {
  const int d = int(dtype);
  if (column == KernelColumn::host) {
    if (isa > isa_rank() || (cells[0][d] && isa < rank[d])) return;
    rank[d] = int8_t(isa);
  }
  cells[int(column)][d] = fn;
}

KernelFn Kernel::find(const char* op, Device device, Dtype dtype) const {
  KernelFn fn = cells[device.is_cpu() ? 0 : int(kernel_column(device))][int(dtype)];
  if (fn) [[likely]]
    return fn;
  if (cells[0][int(dtype)]) {
    fail(Code::unsupported, op, ": no kernel for ", to_string(device), " in this build");
  }
  std::string known;
  for (int d = 1; d < kDtypeCount; ++d) {
    if (cells[0][d]) known += (known.empty() ? "" : ", ") + std::string(name_of(Dtype(d)));
  }
  throw Error(Code::dtype, cat_text('"', op, "\" not implemented for '", name_of(dtype), "'"),
              "it takes " + known, "convert the operand: x.to(dtype)");
}

}  // namespace flambeau
