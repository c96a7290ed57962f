// Functions of the program that run on gradients or around a module's forward until it removes
// them. A removed one may still stand in a list, because it may remove itself while that list runs;
// it goes when the next one is added, so that a program which sets and removes one in every step
// does not grow the list.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

class Hook : public RefCounted {
 public:
  bool removed = false;
};

// On one gradient; an undefined result keeps it.
class TensorHook : public Hook {
 public:
  virtual Tensor call(const Tensor& grad) = 0;
};

// On all gradients that a node takes or gives.
class NodeHook : public Hook {
 public:
  // Before the node runs `given` are its gradients and `seen` is empty; after it, `given` are those
  // that it computed and `seen` those that it was given. Entries of `given` may be replaced.
  virtual void call(Tensors& given, TensorsView seen) = 0;
};

struct NodeHooks {
  SmallVector<Ref<NodeHook>, 1> before, after;
};

// Entries of `list` are hooks, or have one.
template <class List, class Entry> void add_hook(List& list, Entry entry) {
  List kept;
  for (auto& e : list) {
    const Hook* hook;
    if constexpr (requires { e.hook; }) {
      hook = e.hook.get();
    } else {
      hook = e.get();
    }
    if (!hook->removed) kept.push_back(std::move(e));
  }
  kept.push_back(std::move(entry));
  list = std::move(kept);
}

}  // namespace flambeau
