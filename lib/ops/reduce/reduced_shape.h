// The dimensions that a reduction runs over and the shapes of its result.
#pragma once
#include <optional>

#include "base/error.h"
#include "tensor/tensor.h"

namespace flambeau::ops {

struct ReducedShape {
  Dims dims;          // reduced ones, wrapped
  Dims kept;          // the operand's shape with size 1 at reduced dimensions
  Dims sizes;         // of the result
  int64_t count = 1;  // terms of each result

  // No dimensions: all of them.
  ReducedShape(const Tensor& x, DimsView dim, bool keepdim) : kept(x.sizes()) {
    SmallVector<bool, 8> reduced(kept.size(), dim.empty());
    for (int64_t d : dim) {
      const size_t at = size_t(wrap_dim(d, x.dim()));
      if (x.dim() == 0) continue;
      if (reduced[at]) fail(Code::index, "dim ", at, " appears multiple times in the list of dims");
      reduced[at] = true;
    }
    for (size_t d = 0; d < kept.size(); ++d) {
      if (reduced[d]) {
        dims.push_back(int64_t(d));
        count *= kept[d];
        kept[d] = 1;
      }
      if (keepdim || !reduced[d]) sizes.push_back(kept[d]);
    }
  }
};

inline DimsView dims_of(const std::optional<int64_t>& dim) {
  return dim ? DimsView(&*dim, 1) : DimsView();
}

}  // namespace flambeau::ops
