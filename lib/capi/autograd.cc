// The backward pass, modes, hooks and nodes behind handles.
#include "capi/gen/targets.h"

#include "base/error.h"
#include "capi/hook.h"
#include "capi/scope_stack.h"
#include "engine/backward.h"
#include "graph/autograd_data.h"
#include "graph/hook_kinds.h"
#include "graph/mode.h"
#include "graph/saved_hooks.h"
#include "ops/ops.h"

namespace flambeau {

namespace {

template <class Kind>
class ProgramTensorHook final : public capi::ProgramHook<Kind, flam_hook_callback> {
 public:
  explicit ProgramTensorHook(const flam_hook_callback* given)
      : capi::ProgramHook<Kind, flam_hook_callback>(given, "flam_hook_callback") {}

  Tensor call(const Tensor& grad) override {
    const auto owner = this->running();
    if (!owner) return {};
    const flam_hook_callback& table = this->table;
    return capi::call_back(
        "a hook",
        [&](flam_tensor** out) { return table.call(table.user, capi::handle(grad), out); },
        capi::Result::optional);
  }
};

class ProgramNodeHook final : public capi::ProgramHook<NodeHook, flam_node_hook_callback> {
 public:
  explicit ProgramNodeHook(const flam_node_hook_callback* given)
      : ProgramHook(given, "flam_node_hook_callback") {}

  void call(Tensors& given, TensorsView seen) override {
    const auto owner = running();
    if (!owner) return;
    SmallVector<flam_tensor*, 3> out(given.size(), nullptr);
    const capi::HostCall call;
    flam_status status = table.call(table.user, capi::handles(given), given.size(),
                                    capi::handles(seen), seen.size(), out.data(), out.size());
    Tensors changed;
    for (flam_tensor* h : out) changed.push_back(capi::adopt("a node's hook", h, &status));
    call.check("a node's hook", status);
    for (size_t i = 0; i < given.size(); ++i) {
      if (changed[i]) given[i] = std::move(changed[i]);
    }
  }
};

}  // namespace

}  // namespace flambeau

namespace flambeau::capi {

void backward(const Tensor& loss) { flambeau::backward({&loss, 1}, {}, false, false, {}); }

void autograd_backward(TensorsView tensors, TensorsView grads, bool retain_graph, bool create_graph,
                       TensorsView inputs) {
  flambeau::backward(tensors, grads, retain_graph || create_graph, create_graph, inputs);
}

Ref<flam_tensor_list> grad(TensorsView outputs, TensorsView inputs, TensorsView grad_outputs,
                           bool retain_graph, bool create_graph, bool allow_unused) {
  const Tensors found = gradients(outputs, grad_outputs, inputs, retain_graph || create_graph,
                                  create_graph, allow_unused);
  return make_list({found.begin(), found.end()});
}

// ---- modes
// -----------------------------------------------------------------------------------------------

flam_scope grad_mode_push(bool enabled) {
  const flam_scope scope = push_scope([before = modes.grad] { modes.grad = before; });
  modes.grad = enabled;
  return scope;
}

flam_scope inference_mode_push(bool enabled) {
  const flam_scope scope = push_scope([grad = modes.grad, inference = modes.inference] {
    modes.grad = grad;
    modes.inference = inference;
  });
  modes.grad = !enabled;
  modes.inference = enabled;
  return scope;
}

void scope_pop(flam_scope scope) { pop_scope(scope); }
bool grad_enabled() { return modes.grad; }
void set_grad_enabled(bool enabled) { modes.grad = enabled; }
bool inference_enabled() { return modes.inference; }

// ---- tensors in the graph
// --------------------------------------------------------------------------------

void tensor_retain_grad(const Tensor& t) { retain_grad(t); }

bool tensor_retains_grad(const Tensor& t) {
  const AutogradData* d = t.impl()->autograd.get();
  return d && d->retains_grad && !is_leaf(t);
}

Tensor tensor_detach_(const Tensor& t) {
  if (modes.inference) return t;
  check(!t.base(), Code::autograd, "Can't detach views in-place. Use detach() instead: ", t);
  if (AutogradData* d = t.impl()->autograd.get()) {
    d->move_to(nullptr, 0);
    d->requires_grad = d->retains_grad = false;
  }
  return t;
}

int64_t tensor_output_nr(const Tensor& t) { return grad_fn(t) ? autograd_data(t).output_nr : 0; }

template <class Kind>
static Ref<flam_hook> add_tensor_hook(const Tensor& t, const flam_hook_callback* callback) {
  auto hook = make_ref<ProgramTensorHook<Kind>>(callback);
  check(requires_grad(t), Code::autograd,
        "cannot register a hook on a tensor that doesn't require gradient: ", t);
  if (const Ref<Node> node = grad_fn(t)) {
    add_hook(node->hooks, Node::OutputHook{hook, autograd_data(t).output_nr});
  } else {
    add_hook(autograd_data(t).hooks, hook);
  }
  return handle_of(std::move(hook));
}

Ref<flam_hook> tensor_register_hook(const Tensor& t, const flam_hook_callback* callback) {
  flam_hook_callback given{};
  const bool absent = capi::read_sized(&given, callback) && given.absent;
  return absent ? add_tensor_hook<AbsenceHook>(t, callback)
                : add_tensor_hook<TensorHook>(t, callback);
}

Ref<flam_hook> tensor_register_post_accumulate_grad_hook(const Tensor& t,
                                                         const flam_hook_callback* callback) {
  auto hook = make_ref<ProgramTensorHook<TensorHook>>(callback);
  check(requires_grad(t), Code::autograd,
        "cannot register a hook on a tensor that doesn't require gradient: ", t);
  check(is_leaf(t), Code::autograd,
        "post accumulate grad hooks cannot be registered on non-leaf tensors: ", t);
  add_hook(autograd_data(t).accumulated_hooks, hook);
  return handle_of(std::move(hook));
}

void hook_remove(flam_hook* hook) { hook->remove(); }

void hook_release(flam_hook* hook) {
  if (hook) hook->release();
}

// ---- nodes
// -----------------------------------------------------------------------------------------------

Ref<flam_node> tensor_grad_fn(const Tensor& t) {
  const Ref<Node>& node = grad_fn(t);
  return node ? make_ref<flam_node>(Edge{node, {}, 0}) : nullptr;
}

Ref<flam_node> tensor_gradient_node(const Tensor& t) {
  const Edge e = gradient_edge(t);
  return e ? make_ref<flam_node>(Edge{e.node, e.leaf, 0}) : nullptr;
}

const char* node_name(const flam_node* n) {
  return n->edge.node ? n->edge.node->name() : "AccumulateGrad";
}

uint64_t node_id(const flam_node* n) { return reinterpret_cast<uintptr_t>(n->edge.key()); }
size_t node_next_count(const flam_node* n) { return n->edge.node ? n->edge.node->next.size() : 0; }

Ref<flam_node> node_next(const flam_node* n, size_t index) {
  check(index < node_next_count(n), Code::index, "operand ", index, " is out of bounds for \"",
        node_name(n), "\" with ", node_next_count(n), " operands");
  const Edge& e = n->edge.node->next[index];
  return e ? make_ref<flam_node>(Edge{e.node, e.leaf, 0}) : nullptr;
}

int64_t node_next_output_nr(const flam_node* n, size_t index) {
  return index < node_next_count(n) ? n->edge.node->next[index].nr : 0;
}

size_t node_output_count(const flam_node* n) {
  return n->edge.node ? n->edge.node->outputs.size() : 1;
}

Tensor node_output(const flam_node* n, int64_t nr) {
  check(nr >= 0 && size_t(nr) < node_output_count(n), Code::index, "result ", nr,
        " is out of bounds for \"", node_name(n), "\" with ", node_output_count(n), " results");
  if (n->edge.leaf) return n->edge.leaf;
  const OutputMeta& made = n->edge.node->outputs[size_t(nr)];
  const Tensor cell = ops::zeros(Dims{1}, made.dtype, made.device);
  const Dims strides(made.sizes.size(), 0);
  return with_history(tensor_of(cell.storage(), made.sizes, strides, made.dtype),
                      {n->edge.node, {}, uint32_t(nr)});
}

uint64_t node_sequence_nr(const flam_node* n) {
  return n->edge.node ? n->edge.node->sequence : ~uint64_t(0);
}

void node_set_sequence_nr(flam_node* n, uint64_t sequence_nr) {
  check(bool(n->edge.node), Code::autograd, "\"", node_name(n),
        "\" has no place of its own: a leaf accumulates as soon as its gradient is complete");
  n->edge.node->sequence = sequence_nr;
}

Tensor node_variable(const flam_node* n) { return n->edge.leaf; }

Ref<flam_hook> node_register_hook(flam_node* n, const flam_node_hook_callback* callback,
                                  bool before) {
  auto hook = make_ref<ProgramNodeHook>(callback);
  auto& hooks = n->edge.node ? n->edge.node->node_hooks : autograd_data(n->edge.leaf).node_hooks;
  if (!hooks) hooks = std::make_unique<NodeHooks>();
  add_hook(before ? hooks->before : hooks->after, hook);
  return handle_of(std::move(hook));
}

void node_release(flam_node* n) {
  if (n) n->release();
}

// ---- saved values
// ----------------------------------------------------------------------------------------

Ref<flam_saved> saved_new(const Tensor& t, int64_t output_nr) {
  return make_ref<flam_saved>(output_nr >= 0 ? Saved::output(t, uint32_t(output_nr))
                                             : Saved::hooked(t));
}

Tensor saved_get(const flam_saved* saved) { return saved->value.get(); }

void saved_release(flam_saved* saved) {
  if (saved) saved->release();
}

void set_detect_anomaly_enabled(bool enabled) { detect_anomaly = enabled; }
bool detect_anomaly_enabled() { return detect_anomaly; }

}  // namespace flambeau::capi
