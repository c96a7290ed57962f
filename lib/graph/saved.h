// A tensor kept for backward, with the version it had. Reading it checks that nothing wrote to it
// since and names the op that did. A saved *output* is kept without its history (which would be a
// cycle) and gets it back when read.
#pragma once
#include "graph/autograd_data.h"

namespace flambeau {

class Saved {
 public:
  Saved() = default;
  Saved(const Tensor& t, uint32_t version) : tensor_(t), version_(version) {}
  static Saved output(const Tensor& y, uint32_t nr = 0);  // nr: which of its op's results

  bool defined() const { return tensor_.defined(); }
  Tensor get() const;
  operator Tensor() const { return get(); }
  const Tensor& unchecked() const { return tensor_; }  // shape and dtype only

 private:
  Tensor tensor_;
  uint32_t version_ = 0;
  bool is_output_ = false;
  uint32_t output_nr_ = 0;
};

}  // namespace flambeau
