// The planner of running extremes.
#include "kernels/scan/scan_extreme.h"

#include "kernels/map/map.h"

namespace flambeau {

constinit Kernel kCummax{"cummax"}, kCummin{"cummin"};

void run_scan_extreme(const char* op, const Kernel& kernel, const Tensor& values, const Tensor& at,
                      const Tensor& input, int64_t dim) {
  const KernelFn fn = kernel.find(op, input.device(), input.dtype());
  if (input.numel() == 0) return;
  Tensor in = input;
  if (!input.is_contiguous()) {
    in = empty(input.sizes(), input.dtype(), input.device());
    run_cast(in, input);
  }
  ScanExtremeArgs a{1,
                    in.dim() ? in.size(dim) : 1,
                    1,
                    static_cast<const char*>(in.data()),
                    static_cast<char*>(values.data()),
                    at.data_as<int64_t>()};
  for (int64_t d = 0, along = wrap_dim(dim, in.dim()); d < in.dim(); ++d) {
    if (d != along) (d < along ? a.outer : a.inner) *= in.sizes()[size_t(d)];
  }
  launch_kernel(op, fn, input.device(), a, {writes(values), writes(at), reads(in)});
}

}  // namespace flambeau
