// The backward walk: counts how often each node is reached, then runs nodes whose gradients are
// complete, latest first. A leaf is a node without a function: its gradient is complete when all
// its users have run.
#include "engine/backward.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/thread_state.h"
#include "device/label.h"
#include "device/probe.h"
#include "device/step.h"
#include "engine/node_scope.h"
#include "engine/pass_time.h"
#include "graph/hook_kinds.h"
#include "graph/masked_gradient.h"
#include "graph/mode.h"
#include "graph/receiver.h"
#include "graph/root_node.h"
#include "graph/saved_hooks.h"
#include "ops/elementwise/relu_gradient.h"
#include "ops/ops.h"
#include "ops/read.h"
#include "tensor/order.h"

namespace flambeau {

namespace {

struct Task {
  Edge edge;        // the node or leaf itself
  int waiting = 0;  // users that have not delivered
  bool needed = true;
  bool one = false;              // its gradient is 1, of which no tensor was made
  bool served = false;           // its function was done by the node that made its gradient
  bool unsummed = false;         // its gradient has the dimensions of a broadcast, too
  Saved mask;                    // what a ReLU has left to be masked in its gradient
  Tensors grads;                 // by output number; a leaf has one
  SmallVector<int, 1> captures;  // indices of gradients() inputs that this node's outputs are
  SmallVector<uint32_t, 1> capture_nr;
};

// Where a pass begins; without a gradient at 1, of `output`.
struct Root {
  Edge edge;
  Tensor grad, output;
  Tensor gradient() const {
    return grad ? grad : ops::ones(output.sizes(), output.dtype(), output.device());
  }
};

class Walk final : public Receivers, public Masks {
 public:
  Walk(bool retain_graph, bool create_graph, bool accumulate)
      : retain_(retain_graph), create_(create_graph), accumulate_(accumulate) {}

  void add_root(size_t index, const Tensor& root, const Tensor& grad);
  void capture(size_t index, const Tensor& input);
  void limit_to(TensorsView inputs);
  void run();
  bool reaches(const Tensor& t) const;
  Node* only(size_t i) override;
  void served(size_t i) override { task(running_->next[i]).served = true; }
  Tensor gathered(size_t i) override;
  void added(size_t i) override { gathered_for(running_->next[i]) = Tensor(); }
  bool leave(const Tensor& dy, const Tensor& y) override;
  Tensor mask() const override {
    return mask_.defined() && current_node == running_ ? mask_.get() : Tensor();
  }
  void add_after(std::function<void()> f) { after_.push_back(std::move(f)); }
  Walk* outer = nullptr;  // the pass whose function began this one
  Tensors captured;

 private:
  Task& task(const Edge& e);
  Tensor& gathered_for(const Edge& e) { return task(e).grads[e.nr]; }
  bool is_alone(const Edge& e);
  bool takes_mask(const Edge& e, const Tensor& dy);
  // `maker`: the node that made the gradient; null for the caller.
  void deliver(const Edge& e, Tensor grad, const Node* maker);
  void run_all();
  void begin(const Root& root);
  bool begins_at_one(const Task& t) const;
  void run_leaf(Task& t);
  void run_node(Task& t);
  void show(const Task& t, Tensors& dy, const NodeScope& scope);
  Tensors apply(const Task& t, Tensors& dy, bool onward);
  void conform_all(const Node& node, Tensors& dx);
  bool takes_unsummed(const Edge& e, const Tensor& g);
  Tensor run_hooks(const SmallVector<Ref<TensorHook>, 1>& hooks, Tensor grad);
  void finish();

  bool retain_, create_, accumulate_, limited_ = false;
  const Node* running_ = nullptr;  // whose function runs
  Saved mask_, left_;              // of its gradient, and what it leaves to those it gives one
  UnpackedValues unpacked_;
  UsedStreams used_;
  std::unordered_map<const void*, Task> tasks_;
  std::vector<Root> roots_;
  std::vector<std::function<void()>> after_;
  struct Later {
    bool operator()(const Task* a, const Task* b) const { return order(a) < order(b); }
    static uint64_t order(const Task* t) {
      return t->edge.node ? t->edge.node->sequence : ~uint64_t(0);
    }
  };
  std::priority_queue<Task*, std::vector<Task*>, Later> ready_;
};

Task& Walk::task(const Edge& e) {
  auto [it, fresh] = tasks_.try_emplace(e.key());
  if (fresh) {
    it->second.edge = e;
    it->second.grads.resize(e.node ? e.node->outputs.size() : 1);
  }
  return it->second;
}

void Walk::add_root(size_t index, const Tensor& root, const Tensor& grad) {
  Edge e = gradient_edge(root);
  if (!e) {
    throw Error(Code::autograd,
                "element 0 of tensors does not require grad and does not have a grad_fn",
                describe(root),
                "make a leaf of the graph require grad, and record the forward outside no_grad()");
  }
  Tensor g = grad;
  if (!g) {
    check(root.numel() == 1, Code::autograd,
          "grad can be implicitly created only for scalar outputs, got ", root);
    check(!is_complex(root.dtype()), Code::autograd,
          "grad can be implicitly created only for real scalar outputs but got ", root,
          "; give backward() a gradient, or take y.real or y.abs()");
  } else {
    check(std::equal(g.sizes().begin(), g.sizes().end(), root.sizes().begin(), root.sizes().end()),
          Code::shape, "Mismatch in shape: grad_output[", index, "] has a shape of torch.Size(",
          ShapeText{g.sizes()}, ") and output[", index, "] has a shape of torch.Size(",
          ShapeText{root.sizes()}, ").");
    check(is_complex(g.dtype()) == is_complex(root.dtype()), Code::dtype,
          "For complex Tensors, both grad_output and output are required to have the same dtype. "
          "Mismatch in dtype: grad_output[",
          index, "] has a dtype of torch.", name_of(g.dtype()), " and output[", index,
          "] has a dtype of torch.", name_of(root.dtype()), ".");
    check(g.device() == root.device(), Code::device_mismatch, "backward: the gradient is ", g,
          ", its output ", root, "; move it: grad.to(\"", to_string(root.device()), "\")");
    g = ops::to_dtype(g, root.dtype());
  }
  // Count users of everything reachable that was not reached from an earlier root.
  if (!tasks_.count(e.key())) {
    std::vector<Task*> stack{&task(e)};
    while (!stack.empty()) {
      Task* t = stack.back();
      stack.pop_back();
      if (!t->edge.node) continue;
      for (const Edge& next : t->edge.node->next) {
        if (!next) continue;
        const bool fresh = !tasks_.count(next.key());
        Task& n = task(next);
        ++n.waiting;
        if (fresh) stack.push_back(&n);
      }
    }
  }
  roots_.push_back({std::move(e), std::move(g), grad ? Tensor() : root});
}

void Walk::capture(size_t index, const Tensor& input) {
  const Edge e = gradient_edge(input);
  check(bool(e), Code::autograd,
        "One of the differentiated Tensors does not require grad: ", input);
  if (captured.size() <= index) captured.resize(index + 1);
  const auto it = tasks_.find(e.key());
  if (it == tasks_.end()) return;
  it->second.captures.push_back(int(index));
  it->second.capture_nr.push_back(e.nr);
}

// Runs only nodes from which one of the inputs is reachable, and where gradients accumulate those
// that made an input, too: their hooks see what is accumulated.
void Walk::limit_to(TensorsView inputs) {
  std::vector<std::pair<Task*, size_t>> stack;
  std::unordered_map<Task*, bool> seen;
  limited_ = true;
  for (auto& [key, t] : tasks_) t.needed = false;
  for (const Tensor& input : inputs) {
    if (const auto it = tasks_.find(gradient_edge(input).key()); it != tasks_.end())
      it->second.needed = true;
  }
  for (const Root& r : roots_) {
    stack.push_back({&task(r.edge), 0});
    while (!stack.empty()) {
      auto& [t, i] = stack.back();
      if (i == 0 && !seen.try_emplace(t, true).second) {
        stack.pop_back();
        continue;
      }
      const size_t n = t->edge.node ? t->edge.node->next.size() : 0;
      if (i > 0) {
        const Edge& done = t->edge.node->next[i - 1];
        if (done && task(done).needed) t->needed = true;
      }
      if (i == n) {
        stack.pop_back();
        continue;
      }
      const Edge& next = t->edge.node->next[i++];
      if (next) {
        Task* child = &task(next);
        if (!seen.count(child)) stack.push_back({child, 0});
      }
    }
  }
}

// Gradients take the shape and dtype of what they belong to: broadcasting and casts are undone
// here.
Tensor conform(Tensor g, DimsView sizes, Dtype dtype, const char* op) {
  if (!std::equal(sizes.begin(), sizes.end(), g.sizes().begin(), g.sizes().end())) {
    check(broadcasts_to(sizes, g.sizes()), Code::internal, "\"", op,
          "\" returned a gradient of shape ", ShapeText{g.sizes()}, " where ", ShapeText{sizes},
          " was expected");
    g = ops::sum_to(g, sizes);
  }
  if (is_complex(g.dtype()) && !is_complex(dtype)) g = ops::real(g);
  return g.dtype() == dtype ? g : ops::to_dtype(g, dtype);
}

bool is_only_user(const Tensor& t) {  // and no expanded gradient
  return t.impl()->use_count() == 1 && t.storage()->use_count() == 1 && !t.impl()->autograd &&
         is_dense(t);
}

void Walk::deliver(const Edge& e, Tensor grad, const Node* maker) {
  Task& t = task(e);
  if (grad && t.needed) {
    std::optional<StreamScope> reader;
    if (!grad.device().is_cpu()) reader.emplace(hand_over(grad, maker, e.node.get()));
    Tensor& slot = t.grads[e.nr];
    if (!slot) {
      slot = std::move(grad);
    } else if (!create_ && is_only_user(slot)) {
      ops::add_(slot, grad);
    } else {
      slot = ops::add(slot, grad);
    }
  }
  if (--t.waiting == 0) ready_.push(&t);
}

// What a hook makes of a gradient: another value, not another kind of tensor.
Tensor hooked(TensorHook& hook, const Tensor& grad) {
  if (!grad && !dynamic_cast<AbsenceHook*>(&hook)) return grad;
  Tensor replaced = hook.call(grad);
  if (!replaced) return grad;
  check(grad.defined(), Code::autograd, "can't replace a None gradient with a non-None value");
  check(std::ranges::equal(replaced.sizes(), grad.sizes()), Code::shape,
        "a hook has changed the size of value: it returned ", replaced, " for ", grad);
  check(replaced.dtype() == grad.dtype(), Code::dtype,
        "a hook has changed the type of value: it returned ", replaced, " for ", grad);
  check(replaced.device() == grad.device(), Code::device_mismatch,
        "a hook has changed the device of value: it returned ", replaced, " for ", grad);
  return replaced;
}

Tensor Walk::run_hooks(const SmallVector<Ref<TensorHook>, 1>& hooks, Tensor grad) {
  for (const Ref<TensorHook>& h : SmallVector<Ref<TensorHook>, 1>(hooks)) grad = hooked(*h, grad);
  return grad;
}

// Lets the hooks know that a pass comes by a leaf without a gradient of it.
void pass_by(const Tensor& leaf) {
  const AutogradData& d = autograd_data(leaf);
  for (const Ref<TensorHook>& h : SmallVector<Ref<TensorHook>, 1>(d.hooks)) hooked(*h, {});
}

void accumulate_grad(const Tensor& leaf, Tensor g, bool create) {
  Tensor& slot = autograd_data(leaf).grad;
  if (!slot) {
    // Laid out as its leaf, where that has no gaps; what nobody else holds then needs no copy.
    const Dims strides = is_dense(leaf) ? Dims(leaf.strides()) : contiguous_strides(leaf.sizes());
    const bool fits = std::ranges::equal(g.strides(), strides) || g.numel() < 2;
    if (fits && !create && is_only_user(g)) {
      slot = std::move(g);
    } else if (fits) {
      slot = ops::clone(g);
    } else {
      slot = ops::copy_(empty_strided(g.sizes(), strides, g.dtype(), g.device()), g);
    }
  } else if (create) {
    slot = ops::add(slot, g);
  } else {
    ops::add_(slot, g);
  }
}

void run_node_hooks(const SmallVector<Ref<NodeHook>, 1>& hooks, Tensors& given, TensorsView seen) {
  for (const Ref<NodeHook>& h : SmallVector<Ref<NodeHook>, 1>(hooks)) h->call(given, seen);
}

void accumulate_with_hooks(const Tensor& leaf, Tensor g, bool create) {
  const bool hooked = autograd_data(leaf).node_hooks != nullptr;
  Tensors seen;
  if (hooked) [[unlikely]] {
    seen = {std::move(g)};
    run_node_hooks(autograd_data(leaf).node_hooks->before, seen, {});
    g = std::move(seen[0]);
    // What becomes the leaf's gradient is the one that hooks see, with what is done to it.
    seen.clear();
    if (autograd_data(leaf).grad) seen.push_back(g);
  }
  accumulate_grad(leaf, std::move(g), create);
  if (hooked && seen.empty()) seen.push_back(autograd_data(leaf).grad);
  const SmallVector<Ref<TensorHook>, 1> hooks(autograd_data(leaf).accumulated_hooks);
  for (const Ref<TensorHook>& h : hooks) h->call(leaf);
  Tensors none;
  if (hooked) run_node_hooks(autograd_data(leaf).node_hooks->after, none, seen);
}

void Walk::run_leaf(Task& t) {
  const Tensor& leaf = t.edge.leaf;
  Tensor g = std::move(t.grads[0]);
  t.grads[0] = Tensor();
  if (!g) {
    if (t.needed) pass_by(leaf);
    return;
  }
  g = run_hooks(autograd_data(leaf).hooks, std::move(g));
  for (int index : t.captures) captured[size_t(index)] = g;
  const probe::Span span(probe::Kind::backward, "AccumulateGrad");
  if (accumulate_) accumulate_with_hooks(leaf, std::move(g), create_);
}

void refuse_nan(const Node& node, TensorsView dx) {
  const GradMode off(false);
  for (size_t i = 0; i < dx.size(); ++i) {
    if (!dx[i] || !is_differentiable(dx[i].dtype())) continue;
    check(!ops::is_true(ops::any(ops::isnan(dx[i]))), Code::non_finite, "Function '", node.name(),
          "' returned nan values in its ", i, "th output.");
  }
}

// Whether somebody sees what gradients a node gets.
bool is_watched(const Node& node) {
  return !node.hooks.empty() || !node.retained.empty() || node.node_hooks;
}

MaskedNode::Takes takes_of(const Node& node, const Tensor& dy) {
  const auto* const masked = dynamic_cast<const MaskedNode*>(&node);
  return masked ? masked->takes_mask(dy) : MaskedNode::Takes::no;
}

// Hooks see a node's incoming gradients and replace them; what was asked for is kept.
void Walk::show(const Task& t, Tensors& dy, const NodeScope& scope) {
  const Node& node = *t.edge.node;
  for (const Node::OutputHook& h : SmallVector<Node::OutputHook, 1>(node.hooks)) {
    dy[h.nr] = hooked(*h.hook, dy[h.nr]);
  }
  for (const Node::Retained& r : node.retained) {
    if (!dy[r.nr]) continue;
    Tensor& kept = autograd_data(Tensor(Ref<TensorImpl>::share(r.tensor))).grad;
    kept = kept ? ops::add(kept, dy[r.nr]) : ops::clone(dy[r.nr]);
    keep_for(kept, scope.caller(kept.device()));
  }
  for (size_t i = 0; i < t.captures.size(); ++i) {
    const Tensor& asked = captured[size_t(t.captures[i])] = dy[t.capture_nr[i]];
    if (asked) keep_for(asked, scope.caller(asked.device()));
  }
}

// Without `onward` nobody asks for what the node makes, only for its hooks.
Tensors Walk::apply(const Task& t, Tensors& dy, bool onward) {
  Node& node = *t.edge.node;
  if (node.node_hooks) run_node_hooks(node.node_hooks->before, dy, {});
  struct Restore {
    const Node*& running;
    Node* before = current_node;
    ~Restore() {
      current_node = before;
      running = nullptr;
    }
  } restore{running_};
  current_node = &node;
  running_ = &node;
  const ModuleLabel in_module(node.module);
  const probe::Span span(probe::on() ? probe::begin_backward(intern(node.name()), node.sequence)
                                     : 0);
  Tensors dx;
  if (onward) dx = t.served ? Tensors(dy) : node.apply(dy);
  if (mask_.defined() && takes_of(node, dy[0]) == MaskedNode::Takes::passes_on)
    left_ = mask_.copy();
  if (detect_anomaly) refuse_nan(node, dx);
  if (!unpacked_.entries.empty()) unpacked_.entries.clear();
  dx.resize(node.next.size());
  if (node.node_hooks) {
    for (size_t i = 0; i < dx.size(); ++i)
      if (const Edge& e = node.next[i]; limited_ && e && !task(e).needed) dx[i] = Tensor();
    run_node_hooks(node.node_hooks->after, dx, dy);
  }
  return dx;
}

// Whether a node that alone gets a gradient sums it up itself over what a broadcast has added.
bool Walk::takes_unsummed(const Edge& e, const Tensor& g) {
  if (!e.node || create_ || detect_anomaly) return false;
  const OutputMeta& own = e.node->outputs[0];
  const size_t n = own.sizes.size();
  if (g.sizes().size() <= n || g.dtype() != own.dtype || g.device() != own.device) return false;
  const auto* const rows = dynamic_cast<const RowsNode*>(e.node.get());
  return rows && std::ranges::equal(own.sizes, g.sizes().last(n)) && is_alone(e) &&
         rows->adds_all(g);
}

// Gradients take the shapes and dtypes of the operands that they go to.
void Walk::conform_all(const Node& node, Tensors& dx) {
  dx.resize(node.next.size());
  for (size_t i = 0; i < dx.size(); ++i) {
    const Edge& e = node.next[i];
    if (!e || !dx[i] || !task(e).needed) continue;
    if (takes_unsummed(e, dx[i])) {
      task(e).unsummed = true;
      continue;
    }
    const Dims& sizes = e.node ? e.node->outputs[e.nr].sizes : e.leaf.impl()->sizes;
    const Dtype dtype = e.node ? e.node->outputs[e.nr].dtype : e.leaf.dtype();
    dx[i] = conform(std::move(dx[i]), sizes, dtype, node.name());
    // A number on the cpu that met another device's tensor.
    if (!e.node && sizes.empty() && dx[i].device() != e.leaf.device())
      dx[i] = ops::to_device(dx[i], e.leaf.device(), false);
  }
}

void Walk::run_node(Task& t) {
  const Ref<Node> node = t.edge.node;
  check(!t.served || !is_watched(*node), Code::autograd, "a hook was set on the result of \"",
        node->name(),
        "\" while backward ran, which had made its gradient and that of its operand in one pass; "
        "set it before backward()");
  Tensors dy = std::move(t.grads), dx;
  bool any = t.one, onward = accumulate_ && !limited_;
  for (const Edge& e : node->next) onward |= e && task(e).needed;
  mask_ = std::move(t.mask);
  left_ = Saved();
  {
    const NodeScope scope(*node, used_);
    if (mask_.defined() && is_watched(*node)) {  // since the ReLU ran
      dy[0] = ops::relu_gradient(dy[0], mask_);
      mask_ = Saved();
    }
    if (t.unsummed && is_watched(*node)) dy[0] = ops::sum_to(dy[0], node->outputs[0].sizes);
    if (t.needed) show(t, dy, scope);
    for (const Tensor& g : dy) any |= g.defined();
    if (any && t.needed && (onward || accumulate_)) dx = apply(t, dy, onward);
    conform_all(*node, dx);
  }
  // A node that made what grad() asks for, and has no other to go on to, keeps what it saved.
  if (!retain_ && t.needed && (onward || accumulate_)) node->release_saved();
  dy.clear();
  const Saved left = std::move(left_);
  mask_ = Saved();
  for (size_t i = 0; i < dx.size(); ++i) {
    const Edge& e = node->next[i];
    if (!e) continue;
    if (left.defined() && dx[i]) task(e).mask = left.copy();
    deliver(e, std::move(dx[i]), node.get());
  }
}

// Whether the node takes 1 without a tensor of it, and nobody else wants to see one.
bool Walk::begins_at_one(const Task& t) const {
  const Node* node = t.edge.node.get();
  if (!dynamic_cast<const RootNode*>(node) || create_ || detect_anomaly) return false;
  const OutputMeta& made = node->outputs[0];
  const bool here = made.device.is_cpu() || current_stream(made.device).id == made.stream;
  const bool alone = t.waiting == 1 && !t.grads[0] && t.captures.empty() && roots_.size() == 1;
  return here && alone && t.needed && !is_watched(*node);
}

void Walk::begin(const Root& root) {
  Task& t = task(root.edge);
  t.one = !root.grad && begins_at_one(t);
  if (!t.one) return deliver(root.edge, root.gradient(), nullptr);
  t.waiting = 0;
  ready_.push(&t);
}

bool Walk::reaches(const Tensor& t) const {
  const Edge e = gradient_edge(t);
  const auto it = tasks_.find(e.key());
  return e && it != tasks_.end() && it->second.needed;
}

// Whether a node's only gradient is still to come, and nobody but the node will see it.
bool Walk::is_alone(const Edge& e) {
  if (!e.node || is_watched(*e.node)) return false;
  const Task& t = task(e);
  return t.needed && e.node->outputs.size() == 1 && t.waiting == 1 && !t.grads[0] &&
         t.captures.empty();
}

Node* Walk::only(size_t i) {
  if (!running_ || current_node != running_ || create_ || detect_anomaly) return nullptr;
  const Edge& e = running_->next[i];
  return !running_->node_hooks && is_alone(e) ? e.node.get() : nullptr;
}

// Whether all who will get the gradient, as it is and where it is, mask it.
bool Walk::takes_mask(const Edge& e, const Tensor& dy) {
  if (!is_alone(e)) return false;
  const OutputMeta &own = e.node->outputs[0], &maker = running_->outputs[0];
  const bool alike = std::ranges::equal(own.sizes, dy.sizes()) && own.dtype == dy.dtype() &&
                     own.device == maker.device && own.stream == maker.stream;
  const MaskedNode::Takes takes = alike ? takes_of(*e.node, dy) : MaskedNode::Takes::no;
  if (takes != MaskedNode::Takes::passes_on) return takes == MaskedNode::Takes::drops;
  return std::ranges::all_of(e.node->next, [&](const Edge& next) {
    return !next || !task(next).needed || takes_mask(next, dy);
  });
}

bool Walk::leave(const Tensor& dy, const Tensor& y) {
  if (!running_ || current_node != running_ || create_ || detect_anomaly) return false;
  const bool alike = dy.dtype() == y.dtype() && std::ranges::equal(dy.sizes(), y.sizes());
  if (!alike || running_->node_hooks || !takes_mask(running_->next[0], dy)) return false;
  left_ = Saved(alias(y), y.version());
  return true;
}

Tensor Walk::gathered(size_t i) {
  if (!running_ || current_node != running_ || create_ || detect_anomaly) return {};
  const Edge& e = running_->next[i];
  if (!e.node || running_->node_hooks || !task(e).needed) return {};
  const OutputMeta &from = running_->outputs[0], &to = e.node->outputs[0];
  if (from.device != to.device || from.stream != to.stream) return {};
  const Tensor& g = gathered_for(e);
  return g && is_only_user(g) ? g : Tensor();
}

FLAM_THREAD_LOCAL Walk* current_walk = nullptr;
const Carried<Walk*> carried_walk([]() -> Walk*& { return current_walk; });

class RunningPass {
 public:
  RunningPass(Walk* walk, bool whole, UnpackedValues* unpacked)
      : before_(current_pass),
        mine_{++last, whole},
        walk_before_(current_walk),
        receivers_before_(receivers),
        unpacked_before_(unpacked_values) {
    walk->outer = current_walk;
    current_pass = &mine_;
    current_walk = walk;
    receivers = walk;
    unpacked_values = unpacked;
  }
  ~RunningPass() {
    current_pass = before_;
    current_walk = walk_before_;
    receivers = receivers_before_;
    unpacked_values = unpacked_before_;
  }
  RunningPass(const RunningPass&) = delete;

 private:
  static inline std::atomic<uint64_t> last{0};
  const Pass *before_, mine_;
  Walk* const walk_before_;
  Receivers* const receivers_before_;
  UnpackedValues* const unpacked_before_;
};

// Walks inside walks that one thread's stack holds, the program's frames among them. PyTorch's
// number: an interpreter that counts its own frames (Python's 1,000) must get by, too.
constexpr int kDeepest = 60;
FLAM_THREAD_LOCAL int walks_open = 0;

void Walk::run() {
  if (walks_open >= kDeepest) return run_on_another_thread([this] { run(); });
  struct Open {
    Open() { ++walks_open; }
    ~Open() { --walks_open; }
  } open;
  const pass_time::Pass counted;
  const BackwardPhase phase;
  const RunningPass pass(this, accumulate_ && !limited_, &unpacked_);
  GradMode mode(create_);
  try {
    run_all();
  } catch (...) {
    used_.join_if_possible();
    throw;
  }
  used_.join();
  finish();
}

// What is to be done then may ask for more.
void Walk::finish() {
  while (!after_.empty()) {
    const auto functions = std::exchange(after_, {});
    for (const auto& f : functions) f();
  }
}

void Walk::run_all() {
  for (const Root& r : roots_) task(r.edge).waiting++;
  for (const Root& r : roots_) begin(r);
  while (!ready_.empty()) {
    Task* t = ready_.top();
    ready_.pop();
    if (t->edge.node) {
      run_node(*t);
    } else {
      run_leaf(*t);
    }
  }
}

Walk prepared(TensorsView roots, TensorsView grads, bool retain, bool create, bool accumulate) {
  Walk walk(retain, create, accumulate);
  for (size_t i = 0; i < roots.size(); ++i)
    walk.add_root(i, roots[i], i < grads.size() ? grads[i] : Tensor());
  return walk;
}

}  // namespace

void after_pass(std::function<void()> f) {
  check(current_walk, Code::internal, "after_pass: no backward pass runs on this thread");
  Walk* outermost = current_walk;
  while (outermost->outer) outermost = outermost->outer;
  outermost->add_after(std::move(f));
}

bool backward_reaches(const Tensor& t) { return current_walk && current_walk->reaches(t); }

void retain_grad(const Tensor& t) {
  check(requires_grad(t), Code::autograd,
        "can't retain_grad on Tensor that has requires_grad=False: ", t);
  const Ref<Node> node = grad_fn(t);
  AutogradData& d = autograd_data(t);
  if (!node || d.retains_grad) return;
  d.retains_grad = true;
  node->retained.push_back({d.output_nr, t.impl()});
}

void backward(TensorsView roots, TensorsView grads, bool retain_graph, bool create_graph,
              TensorsView inputs) {
  Walk walk = prepared(roots, grads, retain_graph, create_graph, true);
  if (!inputs.empty()) {
    for (const Tensor& t : inputs) retain_grad(t);
    walk.limit_to(inputs);
  }
  walk.run();
}

Tensors gradients(TensorsView roots, TensorsView grads, TensorsView inputs, bool retain_graph,
                  bool create_graph, bool allow_unused) {
  Walk walk = prepared(roots, grads, retain_graph, create_graph, false);
  walk.captured.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) walk.capture(i, inputs[i]);
  walk.limit_to(inputs);
  walk.run();
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(walk.captured[i].defined() || allow_unused, Code::autograd,
          "One of the differentiated Tensors appears to not have been used in the graph. Set "
          "allow_unused=True if this is the desired behavior. Input ",
          i, ": ", inputs[i]);
  }
  return std::move(walk.captured);
}

}  // namespace flambeau
