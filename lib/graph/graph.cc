// Nodes and the autograd data of tensors.
#include "base/error.h"
#include "graph/autograd_data.h"

namespace flambeau {

ViewNode make_view_node = nullptr;

void destroy(AutogradData* d) noexcept { delete d; }

AutogradData::~AutogradData() { move_to(nullptr, 0); }

void AutogradData::move_to(Ref<Node> node, uint32_t nr) {
  if (retains_grad && grad_fn) {
    auto& retained = grad_fn->retained;
    size_t i = 0;
    while (i < retained.size() && retained[i].tensor != self) ++i;
    if (i < retained.size()) retained.erase(i);
  }
  if (retains_grad && node) node->retained.push_back({nr, self});
  grad_fn = std::move(node);
  output_nr = nr;
}

AutogradData& autograd_data(const Tensor& t) {
  auto& slot = t.impl()->autograd;
  if (!slot) {
    slot.reset(new AutogradData);
    slot->self = t.impl();
  }
  return *slot;
}

const Ref<Node>& grad_fn(const Tensor& t) {
  static const Ref<Node> none;
  AutogradData* d = t.impl()->autograd.get();
  const Tensor& base = t.base();
  if (base && (!d || d->fresh_at != t.storage()->version()) && base.impl()->autograd &&
      !(d && d->requires_grad)) {
    const uint32_t version = t.storage()->version();
    // Only a write through the base or another view changes where a view's gradient goes.
    if (version != 0 && base.impl()->autograd->grad_fn) {
      Ref<Node> node = make_view_node(t);
      d = &autograd_data(t);
      d->move_to(std::move(node), 0);
      d->fresh_at = version;
    }
  }
  return d ? d->grad_fn : none;
}

Edge gradient_edge(const Tensor& t) {
  const AutogradData* d = t.impl()->autograd.get();
  if (!d && !t.base()) return {};
  const Ref<Node>& node = grad_fn(t);
  if (node) return {node, {}, t.impl()->autograd->output_nr};
  if (d && d->requires_grad) return {{}, t, 0};
  return {};
}

void set_history(const Tensor& t, Ref<Node> node) {
  AutogradData& d = autograd_data(t);
  const uint32_t nr = uint32_t(node->outputs.size());
  d.fresh_at = t.storage()->version();
  d.requires_grad = false;
  node->outputs.push_back({Dims(t.sizes()), t.dtype(), t.device()});
  d.move_to(std::move(node), nr);
}

// ---- nodes
// -----------------------------------------------------------------------------------------------

uint64_t Node::next_sequence() {
  static FLAM_THREAD_LOCAL uint64_t next = 0;
  return next++;
}

void Node::destroy() noexcept {
  // Deleting a node drops its edges; nodes that die by that queue up here instead of recursing.
  using Queue = SmallVector<Node*, 8>;
  static FLAM_THREAD_LOCAL Queue* running = nullptr;
  if (running) return running->push_back(this);
  Queue queue;
  running = &queue;
  Node* n = this;
  while (true) {
    delete n;
    if (queue.empty()) break;
    n = queue.back();
    queue.pop_back();
  }
  running = nullptr;
}

void fail_freed(const char* op) {
  throw Error(
      Code::autograd,
      "Trying to backward through the graph a second time (or directly access saved tensors "
      "after they have already been freed)",
      cat_text("the values saved by \"", op, "\" were freed by the first backward"),
      "call backward(retain_graph=True) the first time");
}

}  // namespace flambeau
