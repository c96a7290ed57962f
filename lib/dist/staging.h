// What a provider is handed of a list of tensors: one piece of host memory; where it takes parts, a
// piece for each; of a provider on streams, one piece of their device. A contiguous tensor that is
// there is that itself; anything else is copied to a buffer and copied back. A buffer of the host
// for tensors on a device is page-locked. Copies to, from and within devices run on the current
// stream.
#pragma once
#include <vector>

#include "tensor/tensor.h"

namespace flambeau::dist {

class Staged {
 public:
  // Parts only if all tensors are there as they are: else one piece of the host.
  enum class As : int8_t { host, host_parts, device };
  // `fill`: whether what the tensors hold is read.
  Staged(const std::vector<Tensor>& tensors, bool fill, As as = As::host);
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
