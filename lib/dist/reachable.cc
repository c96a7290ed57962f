// See reachable.h. The stack is one of our own: graphs are deeper than a thread's.
#include "dist/reachable.h"

#include <vector>

#include "graph/autograd_data.h"

namespace flambeau::dist {

std::unordered_set<const TensorImpl*> reachable_leaves(TensorsView outputs) {
  std::unordered_set<const TensorImpl*> leaves;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> stack;
  const auto visit = [&](const Edge& e) {
    if (e.leaf) leaves.insert(e.leaf.impl());
    if (e.node && seen.insert(e.node.get()).second) stack.push_back(e.node.get());
  };
  for (const Tensor& t : outputs)
    if (t) visit(gradient_edge(t));
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Edge& e : node->next) visit(e);
  }
  return leaves;
}

}  // namespace flambeau::dist
