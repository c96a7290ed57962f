// Gradients that a ReLU leaves to be masked: what is to become 0 where the ReLU's result is not
// positive. Where nobody sees such a gradient, and all nodes that get it read it in a pass of their
// own anyway, they drop those values as they read; so the ReLU needs no pass. A node that passes a
// gradient on as it is, as an addition does, passes the mask on. Who masks is known to the pass and
// not to the graph.
#pragma once
#include "graph/receiver.h"
#include "graph/saved.h"

namespace flambeau {

// The pass, which is the one that `receivers` stands for.
class Masks {
 public:
  // By a ReLU whose gradient is dy and whose result was y: whether dy may go on as it is, since
  // those that get it mask it.
  virtual bool leave(const Tensor& dy, const Tensor& y) = 0;
  // What masks the gradient of the node that runs now; undefined: nothing does.
  virtual Tensor mask() const = 0;

 protected:
  ~Masks() = default;
};
inline Masks* masks() { return dynamic_cast<Masks*>(receivers); }

class MaskedNode : public Node {
 public:
  enum class Takes : int8_t { no, drops, passes_on };
  virtual Takes takes_mask(const Tensor& dy) const = 0;
};

// NodeOf for functors that say what they do with a mask.
template <class F> class MaskedNodeOf : public MaskedNode {
 public:
  explicit MaskedNodeOf(F&& f) : f_(std::move(f)) {}
  const char* name() const override { return F::name; }
  Tensors apply(TensorsView dy) override {
    if (!f_) fail_freed(F::name);
    return (*f_)(dy[0]);
  }
  void release_saved() override {
    if constexpr (!std::is_copy_constructible_v<F>) f_.reset();
  }
  Takes takes_mask(const Tensor& dy) const override { return f_ ? f_->takes_mask(dy) : Takes::no; }

 private:
  std::optional<F> f_;
};

}  // namespace flambeau
