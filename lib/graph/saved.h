// A tensor kept for backward, with the version it had. Reading it checks that nothing wrote to it
// since and names the op that did. A saved *output* is kept without its history (which would be a
// cycle) and gets it back when read. Under hooks (graph/saved_hooks.h) only what they made of the
// value is kept: a tensor without elements, which has the value's shape and dtype, owns that.
#pragma once
#include "graph/autograd_data.h"
#include "graph/mode.h"

namespace flambeau {

class Packed;

class Saved {
 public:
  Saved() = default;
  // Without hooks, or through those that are set.
  Saved(const Tensor& t, uint32_t version)
      : tensor_(t), version_(version), was_recorded_(is_recorded(t)) {
    if (t.impl()->inference) [[unlikely]]
      fail_inference();
  }
  static Saved hooked(const Tensor& t);
  // nr: which of its op's results.
  static Saved output(const Tensor& y, uint32_t nr = 0, bool hooks = modes.saved_hooks != nullptr);

  // Not copyable by itself: so a gradient's functor shows that it saves something.
  Saved(Saved&&) = default;
  Saved& operator=(Saved&&) = default;
  Saved copy() const;

  bool defined() const { return tensor_.defined(); }
  Tensor get() const;
  operator Tensor() const { return get(); }
  const Tensor& unchecked() const { return tensor_; }  // shape and dtype only

 private:
  void pack();
  Tensor unpacked() const;
  [[noreturn]] void fail_overwritten() const;
  [[noreturn]] static void fail_inference();
  static bool is_recorded(const Tensor& t) {
    const AutogradData* d = t.impl()->autograd.get();
    return d && d->grad_fn;
  }

  Tensor tensor_;
  uint32_t version_ = 0;
  bool was_recorded_ = false;  // and no leaf: detach_() since would lose its history
  bool is_output_ = false;
  bool is_packed_ = false;  // tensor_'s storage has no data and owns a Packed
  uint32_t output_nr_ = 0;
};

}  // namespace flambeau
