// What a provider is handed of a list of tensors: one piece of host memory. A contiguous tensor on
// the cpu is that itself; anything else is copied to a buffer, page-locked where the tensors are on
// a device, and copied back. Copies to and from devices run on the current stream.
#pragma once
#include <vector>

#include "tensor/tensor.h"

namespace flambeau::dist {

class Staged {
 public:
  // `fill`: whether what the tensors hold is read.
  Staged(const std::vector<Tensor>& tensors, bool fill);
  void* data() const { return whole_.defined() ? whole_.data() : nullptr; }
  void write_back() const;  // into the tensors; of those that are it themselves, only notes it

 private:
  std::vector<Tensor> tensors_;
  Tensor whole_;
  bool direct_ = false;
};

}  // namespace flambeau::dist
