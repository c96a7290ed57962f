// Nodes and the autograd data of tensors.
#include <atomic>
#include <mutex>

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

namespace {

// Whether a write through the base or another view changed where a view's gradient goes.
bool is_stale(const Tensor& view) {
  AutogradData* d = view.impl()->autograd.get();
  if (d && d->requires_grad) return false;
  const uint32_t version = view.storage()->version();
  const bool fresh = d && std::atomic_ref(d->fresh_at).load(std::memory_order_acquire) == version;
  const AutogradData* of_base = view.base().impl()->autograd.get();
  return !fresh && version != 0 && of_base && of_base->grad_fn;
}

// Threads that read a view at once come here together; all but the first find it done.
void refresh(const Tensor& view) {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;  // making a node reads views
  const std::lock_guard lock(mutex);
  if (!is_stale(view)) return;
  Ref<Node> node = make_view_node(view);
  AutogradData& d = autograd_data(view);
  d.move_to(std::move(node), 0);
  std::atomic_ref(d.fresh_at).store(view.storage()->version(), std::memory_order_release);
}

}  // namespace

const Ref<Node>& grad_fn(const Tensor& t) {
  static const Ref<Node> none;
  if (t.base() && is_stale(t)) refresh(t);
  const AutogradData* d = t.impl()->autograd.get();
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
