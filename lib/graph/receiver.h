// What a gradient may know of who gets what it makes. Where that is one node alone, and nobody sees
// what goes from the one to the other, a product can do the receiver's part in its own pass: it
// says so, and the walk passes its gradient on instead of running the receiver. Who was served is
// known to the pass and not to the graph: other passes over it, on whatever thread, run the node.
// Where the receiver has got a gradient already, as that of a residual, a node can add to it; where
// it adds up by itself, a gradient need not be summed for it.
#pragma once
#include <cstddef>

#include "base/thread_local.h"
#include "graph/node.h"

namespace flambeau {

// A pass, as the node sees it that runs now.
class Receivers {
 public:
  // The node that gets the gradient of operand i, where that is all it gets in this pass and
  // neither hooks nor the program see it; else null.
  virtual Node* only(size_t i) = 0;
  // The gradient of operand i will be that of the receiver's operand.
  virtual void served(size_t i) = 0;
  // What the node that gets the gradient of operand i has got so far for it, where the pass alone
  // holds that and nobody sees what is added to it; else undefined.
  virtual Tensor gathered(size_t i) = 0;
  // The gradient of operand i is what gathered() gave, with the node's own added in place.
  virtual void added(size_t i) = 0;

 protected:
  ~Receivers() = default;
};
inline FLAM_THREAD_LOCAL Receivers* receivers = nullptr;  // null outside of a pass

// A node that multiplies by the slope of a GELU (by tanh).
class GeluNode : public Node {
 public:
  // Where the slope is; undefined where only the node's own function may ask for it: it was
  // released or overwritten, or hooks keep it.
  virtual Tensor input() const = 0;
};

// A node that adds rows of its gradient up by an index, as an embedding does: what a broadcast of
// its result gets need not be summed up before.
class RowsNode : public Node {
 public:
  // Whether it takes dy, which has dimensions before those of the node's result.
  virtual bool adds_all(const Tensor& dy) const = 0;
};

}  // namespace flambeau
