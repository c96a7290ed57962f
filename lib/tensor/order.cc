// Which order the strides of an image tell.
#include "tensor/order.h"

#include <algorithm>

namespace flambeau {

bool is_dense(const Tensor& t) {
  if (t.is_contiguous() || t.numel() == 0) return true;
  SmallVector<size_t, 8> order;  // innermost first
  for (size_t d = 0; d < t.sizes().size(); ++d) {
    if (t.sizes()[d] != 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return t.strides()[a] < t.strides()[b]; });
  int64_t step = 1;
  for (size_t d : order) {
    if (t.strides()[d] != step) return false;
    step *= t.sizes()[d];
  }
  return true;
}

bool is_channels_last(const Tensor& t, bool depth) {
  if ((t.dim() != 4 && !(depth && t.dim() == 5)) || t.strides()[1] == 0) return false;
  const DimsView sizes = t.sizes(), strides = t.strides();
  SmallVector<size_t, 5> order{1};  // innermost first
  for (size_t d = sizes.size(); d-- > 2;) order.push_back(d);
  int64_t least = 0;
  for (size_t d : order) {
    if (sizes[d] == 0 || strides[d] < least) return false;
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  // Nothing but the batch's stride tells a [n, c, 1, 1] from one in C order.
  return sizes[0] != 0 && strides[0] >= least && strides[1] != least;
}

Dims channels_last_strides(DimsView sizes) {
  Dims strides(sizes.size(), 1);
  int64_t step = std::max<int64_t>(sizes[1], 1);
  for (size_t d = sizes.size(); d-- > 2;) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  strides[0] = step;
  return strides;
}

}  // namespace flambeau
