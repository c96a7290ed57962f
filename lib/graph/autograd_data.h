// What autograd knows of one tensor, made on first need. A leaf accumulates into `grad`; any other
// tensor has the node it came from. A view of a differentiable base keeps `fresh_at`: when its
// storage was written since, its grad_fn is made anew from the base's.
#pragma once
#include "graph/node.h"

namespace flambeau {

struct AutogradData : Pooled {
  Ref<Node> grad_fn;
  uint32_t output_nr = 0;
  bool requires_grad = false;  // leaves only
  bool retains_grad = false;
  uint32_t fresh_at = 0;
  Tensor grad;
  SmallVector<Ref<TensorHook>, 1> hooks;              // leaves only; others keep them on the node
  SmallVector<Ref<TensorHook>, 1> accumulated_hooks;  // run after a leaf's gradient was accumulated
  std::unique_ptr<NodeHooks> node_hooks;              // of a leaf's AccumulateGrad
  TensorImpl* self = nullptr;

  // Makes the tensor output `nr` of another node, or of none; a retained gradient is asked of that
  // one.
  void move_to(Ref<Node> node, uint32_t nr);
  ~AutogradData();
};

AutogradData& autograd_data(const Tensor& t);  // makes it where absent

// The node a tensor's gradient flows to; regenerated for views that were written through. May be
// null.
const Ref<Node>& grad_fn(const Tensor& t);

// A view requires grad with its base, also where none of its own was recorded.
inline bool requires_grad(const Tensor& t) {
  const AutogradData* d = t.impl()->autograd.get();
  return (d && (d->requires_grad || d->grad_fn)) || (t.base() && requires_grad(t.base()));
}
inline bool is_leaf(const Tensor& t) { return !grad_fn(t); }

// Where the gradient of t goes: its node, itself as a leaf, or nowhere.
Edge gradient_edge(const Tensor& t);

// Makes t an output of `node`. set_history is for fresh tensors, rebase_history for written-to
// ones.
void set_history(const Tensor& t, Ref<Node> node);

// Makes v a view of x, with the modes that say whether writing through it is known to the graph.
void set_base(const Tensor& v, const Tensor& x, bool one_of_several = false);
// Refuses a write through such a view, or the use of one that was written through `elsewhere`.
[[noreturn]] void fail_view(const Tensor& v, bool elsewhere);

// Regenerates a view's node from its base's; set by ops/view.cc, which knows how.
using ViewNode = Ref<Node> (*)(const Tensor& view);
extern ViewNode make_view_node;

}  // namespace flambeau
