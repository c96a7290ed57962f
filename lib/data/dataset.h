// Where a loader's samples come from. A data set makes whole batches, because that is where the
// time goes: tensors gather rows in one kernel, a host language collates as it likes.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace flambeau::data {

// A list of tensors, or a host language's own object.
struct Batch {
  std::vector<Tensor> tensors;
  std::unique_ptr<void, std::function<void(void*)>> item;  // dropped unless somebody takes it
};

}  // namespace flambeau::data

// The ABI's opaque type, hence outside the namespace.
struct flam_dataset : flambeau::RefCounted {
  virtual int64_t size() const = 0;  // negative: not known
  virtual flambeau::data::Batch fetch(std::span<const int64_t> indices) = 0;
};

namespace flambeau::data {

using Dataset = ::flam_dataset;
Ref<Dataset> from_tensors(TensorsView tensors);

}  // namespace flambeau::data
