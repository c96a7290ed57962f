// Functions of the program that run on gradients or around a module's forward until it removes
// them. A removed one may still stand in a list, because it may remove itself while that list runs;
// it goes when the next one is added, so that a program which sets and removes one in every step
// does not grow the list.
#pragma once
#include <atomic>
#include <utility>

#include "tensor/tensor.h"

namespace flambeau {

class Hook : public RefCounted {
 public:
  std::atomic<bool> removed = false;
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

// Whether an entry of a list, which is a hook or has one, was removed.
template <class Entry> bool is_removed(const Entry& e) {
  if constexpr (requires { e.hook; }) {
    return e.hook->removed;
  } else {
    return e->removed;
  }
}

// The new entry first: where memory runs out, the list is what it was.
template <class List, class Entry> void add_hook(List& list, Entry entry) {
  list.push_back(std::move(entry));
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (is_removed(list[i])) continue;
    if (kept != i) list[kept] = std::move(list[i]);
    ++kept;
  }
  while (list.size() > kept) list.pop_back();
}

}  // namespace flambeau
