// The front door of resampling: the arguments of its launch.
#include "kernels/resample/resample.h"

#include "base/error.h"
#include "kernels/access.h"

namespace flambeau {

constinit Kernel kResample{"resample"};

void run_resample(const char* op, const Tensor& y, const Tensor& x,
                  const SmallVector<Band, kConvDims>& bands) {
  const int space = int(x.dim()) - 2, first = kConvDims - space;
  check(space >= 1 && space <= kConvDims && y.dim() == x.dim() && bands.size() == size_t(space),
        Code::shape, op, ": ", x, " is not resampled to ", y);
  check(x.dtype() == y.dtype(), Code::dtype, op, ": ", x, " and ", y, " differ in dtype");
  ResampleArgs g{};
  g.images = x.sizes()[0];
  g.channels = x.sizes()[1];
  g.x = operand_of(x);
  g.y = operand_of(y);
  SmallVector<Access, 12> accesses{writes(y), reads(x)};
  for (int d = 0; d < kConvDims; ++d) {
    g.in[d] = d < first ? 1 : x.sizes()[size_t(d - first) + 2];
    g.out[d] = d < first ? 1 : y.sizes()[size_t(d - first) + 2];
    if (d < first) continue;
    const Band& b = bands[size_t(d - first)];
    g.band[d] = {b.first.data_as<int64_t>(), b.count.data_as<int64_t>(),
                 b.weights ? static_cast<const char*>(b.weights.data()) : nullptr, b.taps};
    accesses.push_back(reads(b.first));
    accesses.push_back(reads(b.count));
    if (!b.weights) continue;
    g.wide |= b.weights.dtype() == Dtype::f64;
    accesses.push_back(reads(b.weights));
  }
  const KernelFn fn = kResample.find(op, y.device(), y.dtype());
  if (y.numel() == 0) return;
  launch_kernel(op, fn, y.device(), g, std::span<const Access>(accesses.begin(), accesses.end()));
}

}  // namespace flambeau
