// Choosing between builds of a kernel.
#include "kernels/kernel.h"

#include <algorithm>
#include <iterator>
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/error.h"
#include "base/setting.h"

namespace flambeau {

#if defined(__x86_64__)
// The state of tiles is large, so that Linux gives it to processes that ask.
static bool permits_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

static int processor_rank(int cap) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq")) {
    return 1;
  }
  if (!__builtin_cpu_supports("avx512bf16")) return 2;
  if (cap < kIsaTiles || !__builtin_cpu_supports("amx-bf16") || !permits_tiles()) return kIsaPairs;
  return kIsaTiles;
}
#else
static int processor_rank(int) { return 0; }
#endif

static int detect_isa() {
  constexpr const char* caps[] = {"sse2", "avx2", "avx512", "avx512_bf16"};
  int cap = 0;
  while (cap < int(std::size(caps)) && !setting_has("FLAMBEAU_ISA", caps[cap])) ++cap;
  return std::min(cap, processor_rank(cap));
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
  if (is_complex(dtype)) [[unlikely]]
    fail_type(dtype, op);
  KernelFn fn = cells[device.is_cpu() ? 0 : int(kernel_column(device))][int(dtype)];
  if (fn) [[likely]]
    return fn;
  if (cells[0][int(dtype)]) {
    fail(Code::unsupported, op, ": no kernel for ", to_string(device), " in this build");
  }
  std::string known;
  for (int d = 1; d < kComputedDtypes; ++d) {
    if (cells[0][d]) known += (known.empty() ? "" : ", ") + std::string(name_of(Dtype(d)));
  }
  throw Error(Code::dtype, cat_text('"', op, "\" not implemented for '", name_of(dtype), "'"),
              "it takes " + known, "convert the operand: x.to(dtype)");
}

}  // namespace flambeau
