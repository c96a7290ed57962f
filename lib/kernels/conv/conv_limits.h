// What the planners of convolutions on GPUs ask alike: whether there is a kernel, and whether 32
// bits count positions and places.
#pragma once
#include "kernels/conv/conv.h"

namespace flambeau {

inline constexpr int64_t kConvLimit = int64_t{1} << 30;

inline bool has_conv_kernel(const Kernel& kernel, const Tensor& t) {
  const int column = t.device().is_cpu() ? 0 : int(kernel_column(t.device()));
  return kernel.cells[column][int(t.dtype())];
}

inline int64_t conv_volume(const int64_t (&size)[kConvDims]) { return size[0] * size[1] * size[2]; }

// Along each dimension: what padding, strides and dilation come to.
inline bool conv_reach_fits(const ConvArgs& g) {
  bool fits = true;
  for (int d = 0; d < kConvDims; ++d) {
    fits = fits && g.in[d] + 2 * g.padding[d] < kConvLimit && g.out[d] < kConvLimit / g.stride[d] &&
           g.kernel[d] < kConvLimit / g.dilation[d];
  }
  return fits;
}

}  // namespace flambeau
