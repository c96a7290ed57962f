// Functions whose gradient the program computes: a node that calls back, and how results that the
// program already holds become its outputs.
#include <string>

#include "base/error.h"
#include "base/warning.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "graph/autograd_data.h"
#include "graph/hook_kinds.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau {

namespace {

class FunctionNode final : public Node {
 public:
  explicit FunctionNode(const flam_function* given)
      : table_(capi::sized_copy(given, "flam_function")),
        owner_(table_.user, table_.drop),
        name_(table_.name ? table_.name : "Function") {}

  const char* name() const override { return name_.c_str(); }

  Tensors apply(TensorsView given) override {
    Tensors dy(given);
    for (size_t i = 0; i < dy.size(); ++i) {
      if (!dy[i] && table_.materialize_grads && outputs[i].dtype != Dtype::none) {
        dy[i] = ops::zeros(outputs[i].sizes, outputs[i].dtype, outputs[i].device);
      }
    }
    SmallVector<flam_tensor*, 3> out(next.size(), nullptr);
    const capi::HostCall call;
    flam_status status =
        table_.backward(table_.user, capi::handles(dy), dy.size(), out.data(), out.size());
    Tensors dx;
    for (flam_tensor* h : out) dx.push_back(capi::adopt(name(), h, &status));
    call.check(name(), status);
    for (size_t i = 0; i < dx.size(); ++i) check_gradient(i, dx[i]);
    return dx;
  }

  bool callable() const { return table_.backward != nullptr; }
  void* user() const { return table_.user; }

  void release_saved() override { capi::call_drop(table_.release_saved, table_.user); }

 private:
  void check_gradient(size_t i, const Tensor& g) const {
    const Edge& e = next[i];
    if (!g || !e) return;
    const DimsView want = e.node ? DimsView(e.node->outputs[e.nr].sizes) : e.leaf.sizes();
    check(broadcasts_to(want, g.sizes()), Code::shape, "Function ", name_,
          " returned an invalid gradient at index ", i, " - got ", ShapeText{g.sizes()},
          " but expected shape compatible with ", ShapeText{want});
  }

  flam_function table_;
  capi::Callback owner_;
  std::string name_;
};

bool contains(TensorsView list, const Tensor& t) {
  for (const Tensor& x : list) {
    if (x.is_same(t)) return true;
  }
  return false;
}

// What is written and not returned would keep the history of the values that are gone.
void check_dirty(const Tensor& t, TensorsView outputs) {
  check(contains(outputs, t), Code::autograd,
        "Some elements marked as dirty during the forward method were not returned as output: "
        "return every tensor that is marked, got ",
        t);
  if (modes.grad && t.impl()->creation != Creation::normal && requires_grad(t)) fail_view(t, false);
  check(!modes.grad || !(requires_grad(t) && is_leaf(t)), Code::autograd,
        "a leaf Variable that requires grad has been used in an in-place operation: ", t);
}

void warn_of_dirty(TensorsView dirty, TensorsView inputs) {
  for (const Tensor& t : dirty) {
    if (contains(inputs, t)) continue;
    warn(
        "a tensor was marked as dirty that was not an input; the mark is for what the forward "
        "wrote in place");
  }
}

// A result that the program made without recording, as another handle where it has a history of its
// own, is its operand, which keeps it, or views a tensor.
Tensor result_for(const Tensor& y, TensorsView inputs, bool written) {
  const bool handed_through = contains(inputs, y);
  if (written || (!handed_through && !requires_grad(y) && !y.base())) return y;
  const Tensor view = alias(y);
  if (handed_through || y.base()) set_base(view, y);
  return view;
}

// What a tensor that the program made and returns once more became: one tensor, the last of these
// outputs.
const Tensor* earlier(const std::vector<Tensor>& results, TensorsView outputs, const Tensor& y,
                      TensorsView inputs) {
  if (contains(inputs, y)) return nullptr;  // each time a view of its own
  for (size_t i = 0; i < results.size(); ++i) {
    if (outputs[i].is_same(y)) return &results[i];
  }
  return nullptr;
}

// Writes to such a view would go round the gradient of the program.
void forbid_writes(TensorsView views, bool several) {
  for (const Tensor& v : views) {
    if (modes.grad && v && v.base())
      v.impl()->creation = several ? Creation::one_of_several : kInCustomFunction;
  }
}

}  // namespace

namespace capi {

Ref<flam_tensor_list> function_record(const flam_function* function, TensorsView inputs,
                                      TensorsView outputs, TensorsView dirty,
                                      TensorsView non_differentiable) {
  auto node = make_ref<FunctionNode>(function);
  check(node->callable(), Code::invalid_argument, "function_record: \"", node->name(),
        "\" has no backward function");
  for (const Tensor& t : dirty) check_dirty(t, outputs);
  bool recorded = false;
  for (const Tensor& t : inputs) {
    node->next.push_back(t && is_differentiable(t.dtype()) ? gradient_edge(t) : Edge{});
    recorded |= bool(node->next.back());
  }
  recorded &= modes.grad;
  if (recorded) warn_of_dirty(dirty, inputs);
  std::vector<Tensor> results;
  Tensors views;  // but those that are written
  size_t differentiable = 0;
  for (const Tensor& y : outputs) {
    if (!y) {
      node->outputs.push_back(OutputMeta(wrapped_number(int64_t{0})));
      node->outputs.back().dtype = Dtype::none;
      results.push_back({});
      continue;
    }
    const bool written = contains(dirty, y);
    const Tensor* again = written ? nullptr : earlier(results, outputs, y, inputs);
    const Tensor result = again ? *again : result_for(y, inputs, written);
    results.push_back(result);
    if (!written) views.push_back(result);
    const bool constant = !is_differentiable(y.dtype()) || contains(non_differentiable, y);
    differentiable += !constant;
    if (!recorded) continue;
    if (constant) {
      node->outputs.push_back(OutputMeta(y));
    } else if (written) {
      rebase_history(result, node);
    } else {
      set_history(result, node);
    }
  }
  forbid_writes(views, differentiable > 1);
  return make_list(std::move(results));
}

void* node_user(const flam_node* n) {
  const auto* function = dynamic_cast<const FunctionNode*>(n->edge.node.get());
  return function ? function->user() : nullptr;
}

bool function_wanted(size_t index) { return wanted(index); }

}  // namespace capi
}  // namespace flambeau
