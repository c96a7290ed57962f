// The planner of running sums: makes both sides dense.
#include "kernels/scan/scan.h"

#include "kernels/map/map.h"
#include "kernels/scratch_bytes.h"
#include "tensor/parts.h"

namespace flambeau {

void run_scan(const char* op, const Kernel& kernel, const Tensor& out, const Tensor& input,
              int64_t dim, bool backwards) {
  if (is_complex(input.dtype())) [[unlikely]] {
    if (&kernel != &kCumsum) fail_type(input.dtype(), op);
    if (input.dim() == 0) return run_cast(out, input);
    return run_scan(op, kernel, pairs_of(out), pairs_of(input), wrap_dim(dim, input.dim()),
                    backwards);
  }
  const KernelFn fn = kernel.find(op, input.device(), input.dtype());
  if (input.numel() == 0) return;
  const Tensor dense_out =
      out.is_contiguous() ? out : empty(out.sizes(), out.dtype(), out.device());
  Tensor dense_in = input;
  if (!input.is_contiguous()) {
    run_cast(dense_out, input);
    dense_in = dense_out;
  }
  ScanArgs a{};
  a.outer = a.inner = 1;
  a.n = input.dim() ? input.size(dim) : 1;
  a.backwards = backwards;
  for (int64_t d = 0, at = wrap_dim(dim, input.dim()); d < input.dim(); ++d) {
    if (d != at) (d < at ? a.outer : a.inner) *= input.sizes()[size_t(d)];
  }
  a.in = static_cast<const char*>(dense_in.data());
  a.out = static_cast<char*>(dense_out.data());
  Tensor scratch;
  if (!input.device().is_cpu()) {
    const size_t bytes = scratch_bytes(fn, input.device(), a);
    if (bytes) scratch = empty(Dims{int64_t(bytes)}, Dtype::u8, input.device());
    a.scratch = bytes ? static_cast<char*>(scratch.data()) : nullptr;
  }
  launch_kernel(op, fn, input.device(), a, {writes(dense_out), reads(dense_in), writes(scratch)});
  if (!dense_out.is_same(out)) run_cast(out, dense_out);
}

}  // namespace flambeau
