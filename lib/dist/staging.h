// What a provider is handed of a list of tensors: one piece of host memory, or where it takes parts
// a piece for each. A contiguous tensor on the cpu is that itself; anything else is copied to a
// buffer, page-locked where the tensors are on a device, and copied back. Copies to and from
// devices run on the current stream.
#pragma once
#include <vector>

#include "tensor/tensor.h"

namespace flambeau::dist {

class Staged {
 public:
  // `fill`: whether what the tensors hold is read. `apart`: as a piece for each, if all are such
  // tensors.
  Staged(const std::vector<Tensor>& tensors, bool fill, bool apart = false);
  void* data() const { return whole_.defined() ? whole_.data() : nullptr; }
  void* const* parts() const { return parts_.empty() ? nullptr : parts_.data(); }
  void write_back() const;  // into the tensors; of those that are it themselves, only notes it

 private:
  std::vector<Tensor> tensors_;
  Tensor whole_;
  std::vector<void*> parts_;
  bool direct_ = false;
};

}  // namespace flambeau::dist
