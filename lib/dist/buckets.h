// Gradients that are reduced together: many small messages would each cost a round through the
// network, and one of everything could not begin before backward has ended. A bucket is one flat
// tensor, in which each parameter has a view laid out as itself.
#pragma once
#include <span>
#include <vector>

#include "base/ref.h"
#include "tensor/tensor.h"

namespace flambeau::dist {

struct BucketLimits {      // bytes at which a bucket is full
  size_t first = 1 << 20;  // small: what is reduced first should begin early
  size_t further = 25 << 20;
};

// Positions in `parameters` by bucket, filled in this order. Parameters of one bucket have one
// dtype and device; a bucket stands where its last parameter does, for it can only be reduced then.
std::vector<std::vector<size_t>> assign_buckets(TensorsView parameters,
                                                std::span<const size_t> order, BucketLimits limits);

class PendingReduction : public RefCounted {
 public:
  // The reduced values; undefined where they are in the bucket itself.
  virtual Tensor wait() = 0;
};

struct Bucket {
  Bucket(TensorsView parameters, std::vector<size_t> positions);
  // Puts other values in the place of the flat tensor, and the views with it.
  void set_flat(Tensor values, TensorsView parameters);

  std::vector<size_t> members;
  Tensor flat;
  std::vector<Tensor> views;  // by member
  size_t missing = 0;         // gradients that are not there yet
  Ref<PendingReduction> pending;
};

// The strides of a parameter's gradient: its own, or in C order where it has gaps.
Dims layout_of(const Tensor& parameter);

}  // namespace flambeau::dist
