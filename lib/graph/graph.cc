// Nodes and the autograd data of tensors.
#include <atomic>
#include <mutex>

#include "base/error.h"
#include "base/thread_state.h"
#include "graph/autograd_data.h"
#include "graph/hook_kinds.h"
#include "graph/mode.h"
#include "tensor/defaults.h"

namespace flambeau {

ViewNode make_view_node = nullptr;

namespace {
[[maybe_unused]] const bool told = [] {
  makes_inference_tensors = [] { return modes.inference; };
  return true;
}();
}  // namespace

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
    slot->fresh_at = t.impl()->viewed_at;
  }
  return *slot;
}

namespace {

// Whether a write through the base or another view changed where a view's gradient goes.
bool is_stale(const Tensor& view) {
  AutogradData* d = view.impl()->autograd.get();
  if (d && d->requires_grad) return false;
  const uint32_t version = view.version();
  const uint32_t fresh_at =
      d ? std::atomic_ref(d->fresh_at).load(std::memory_order_acquire) : view.impl()->viewed_at;
  return fresh_at != version && requires_grad(view.base());
}

// Threads that read a view at once come here together; all but the first find it done.
void refresh(const Tensor& view) {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;  // making a node reads views
  Ref<Node> old;  // outlives the lock: what it holds may be the program's
  const std::lock_guard lock(mutex);
  if (!is_stale(view)) return;
  if (view.impl()->creation != Creation::normal) fail_view(view, true);
  Ref<Node> node = make_view_node(view);
  AutogradData& d = autograd_data(view);
  old = d.grad_fn;
  d.move_to(std::move(node), 0);
  std::atomic_ref(d.fresh_at).store(view.version(), std::memory_order_release);
}

}  // namespace

void set_base(const Tensor& v, const Tensor& x, bool one_of_several) {
  if (x.impl()->inference) return;
  TensorImpl& to = *v.impl();
  to.base = x.base() ? x.base() : x;
  to.viewed_at = v.version();
  to.creation = modes.inference  ? Creation::inference
                : !modes.grad    ? Creation::no_grad
                : one_of_several ? Creation::one_of_several
                                 : x.impl()->creation;
}

static std::string view_of_fn(const Tensor& v) {
  const AutogradData* d = v.impl()->autograd.get();
  if (!d || !d->grad_fn) return "A view was created in ";
  const std::string_view of = d->grad_fn->name();
  return cat_text("Output ", d->output_nr, " of ", of.substr(0, of.rfind("Backward")),
                  " is a view of a view which was created in ");
}

static std::string result_of(const Tensor& v) {
  const AutogradData* d = v.impl()->autograd.get();
  const std::string_view of = d && d->grad_fn ? d->grad_fn->name() : "a function";
  return cat_text("Output ", d ? d->output_nr : 0, " of ", of.substr(0, of.rfind("Backward")),
                  " is a view and ");
}

void fail_view(const Tensor& v, bool elsewhere) {
  const char* const changed = elsewhere
                                  ? "its base or another view of its base has been modified inplace"
                                  : "is being modified inplace";
  if (v.impl()->creation == Creation::one_of_several) {
    throw Error(
        Code::autograd,
        cat_text(result_of(v), changed,
                 ". This view is the output of a function that returns multiple views. Such "
                 "functions do not allow the output views to be modified inplace"),
        describe(v), "write the out-of-place form, or take the part with narrow() or select()");
  }
  if (v.impl()->creation == kInCustomFunction) {
    throw Error(Code::autograd,
                cat_text(result_of(v), changed,
                         ". This view was created inside a custom Function (or because an input "
                         "was returned as-is) and the autograd logic to handle view+inplace would "
                         "override the custom backward associated with the custom Function, "
                         "leading to incorrect gradients. This behavior is forbidden"),
                describe(v), "return a clone() from the custom Function");
  }
  const bool inference = v.impl()->creation == Creation::inference;
  throw Error(Code::autograd,
              cat_text(view_of_fn(v), inference ? "inference" : "no_grad", " mode and ", changed,
                       inference ? " in normal mode" : " with grad mode enabled",
                       ". Given that this use case is ambiguous and error-prone, it is forbidden. "
                       "Make the view and write to it both inside the ",
                       inference ? "inference_mode" : "no_grad", " block, or both outside"),
              describe(v));
}

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
  d.fresh_at = t.version();
  d.requires_grad = false;
  node->outputs.push_back(OutputMeta(t));
  d.move_to(std::move(node), nr);
}

// ---- nodes
// -----------------------------------------------------------------------------------------------

namespace {
FLAM_THREAD_LOCAL uint64_t t_sequence = 0;
const Carried<uint64_t> carried_sequence([]() -> uint64_t& { return t_sequence; });
const Carried<Node*> carried_node([]() -> Node*& { return current_node; });
const Carried<Modes> carried_modes([]() -> Modes& { return modes; });
}  // namespace

uint64_t Node::next_sequence() { return t_sequence++; }

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
      "after they have already been freed). Saved intermediate values of the graph are freed when "
      "you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
      "through the graph a second time or if you need to access saved tensors after calling "
      "backward",
      cat_text("the values saved by \"", op, "\" were freed by the first backward"),
      "call backward(retain_graph=True) the first time");
}

}  // namespace flambeau
