// Which order the strides of an image tell.
#include "tensor/order.h"

#include <algorithm>

namespace flambeau {

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
