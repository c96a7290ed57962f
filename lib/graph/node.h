// The recorded graph: one node per differentiable op, pointing to the nodes (or leaves) that its
// operands came from. Nodes know nothing of ops: NodeOf wraps an op's own gradient functor.
#pragma once
#include <memory>
#include <optional>
#include <type_traits>

#include "base/pooled.h"
#include "base/thread_local.h"
#include "device/runtime.h"
#include "graph/hook.h"

namespace flambeau {

class Node;

// Where a gradient goes: output `nr` of a node, a leaf to accumulate into, or nowhere.
struct Edge {
  Ref<Node> node;
  Tensor leaf;
  uint32_t nr = 0;
  explicit operator bool() const { return node || leaf; }
  // What the walk counts dependencies by.
  const void* key() const { return node ? static_cast<const void*>(node.get()) : leaf.impl(); }
};

struct OutputMeta {
  explicit OutputMeta(const Tensor& made)
      : sizes(made.sizes()),
        dtype(made.dtype()),
        device(made.device()),
        stream(device.is_cpu() ? 0 : uint16_t(current_stream(device).id)) {}
  Dims sizes;
  Dtype dtype;
  Device device;
  uint16_t stream;  // the current one when the forward ran, on which the gradient runs too
};

class Node : public RefCounted, public Pooled {
 public:
  SmallVector<Edge, 3> next;           // one per operand, in order
  SmallVector<OutputMeta, 1> outputs;  // of the forward op: what gradients must look like
  uint64_t sequence = next_sequence();
  const char* module = nullptr;  // that recorded it, interned

  struct OutputHook {
    Ref<TensorHook> hook;
    uint32_t nr;
  };
  SmallVector<OutputHook, 1> hooks;  // of non-leaf tensors, run on this node's incoming gradients
  struct Retained {
    uint32_t nr;
    TensorImpl* tensor;  // not owned: the tensor owns this node and withdraws itself
  };
  SmallVector<Retained, 1> retained;  // retain_grad()
  std::unique_ptr<NodeHooks> node_hooks;

  virtual const char* name() const = 0;
  // Gradients of the operands from those of the outputs; undefined entries mean zero.
  virtual Tensors apply(TensorsView dy) = 0;
  virtual void release_saved() = 0;  // after which apply fails with torch's "second time" message

 protected:
  ~Node() override = default;
  void destroy() noexcept override;  // iterative: a chain of a million nodes must not recurse

 private:
  static uint64_t next_sequence();
};

// The node whose apply runs on this thread, for saved outputs and wanted().
inline FLAM_THREAD_LOCAL Node* current_node = nullptr;

// The backward pass that runs on this thread, if any. Every pass has its own number, from 1.
struct Pass {
  uint64_t number;
  bool whole;  // accumulates into every leaf that it reaches
};
inline FLAM_THREAD_LOCAL const Pass* current_pass = nullptr;

// In a gradient: whether operand i needs one.
inline bool wanted(size_t i) {
  return !current_node || (i < current_node->next.size() && current_node->next[i]);
}

[[noreturn]] void fail_freed(const char* op);

// A member of functors that serve one pass although they save nothing.
struct ServesOnce {
  ServesOnce() = default;
  ServesOnce(ServesOnce&&) = default;
  ServesOnce& operator=(ServesOnce&&) = default;
};

template <class F> class NodeOf final : public Node {
 public:
  explicit NodeOf(F&& f) : f_(std::move(f)) {}
  const char* name() const override { return F::name; }
  Tensors apply(TensorsView dy) override {
    if (!f_) fail_freed(F::name);
    if constexpr (std::is_invocable_v<const F&, const Tensor&>) {
      return (*f_)(dy[0]);
    } else {
      return (*f_)(dy);
    }
  }
  void release_saved() override {
    // Saved values cannot be copied: a functor that can has none, frees nothing and runs again when
    // the next pass comes by.
    if constexpr (!std::is_copy_constructible_v<F>) f_.reset();
  }

 private:
  std::optional<F> f_;
};

}  // namespace flambeau
