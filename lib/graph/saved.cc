// Saved values: versions checked, results' histories given back, and the way through hooks.
#include "graph/saved.h"

#include "base/error.h"
#include "graph/saved_hooks.h"

namespace flambeau {

namespace {

// Passes gradients on: the history of a value whose gradient goes to a leaf that is another tensor.
struct UnpackedBackward {
  static constexpr auto name = "UnpackedBackward0";
  Tensors operator()(const Tensor& dy) const { return {dy}; }
};

// A tensor with the sizes and dtype of `t` and no elements, which owns `packed`: where its data
// would be, that is.
Tensor stand_in(const Tensor& t, Ref<Packed> packed) {
  const Storage::Drop drop = [](void* p) { static_cast<Packed*>(p)->release(); };
  const Dims strides(t.sizes().size(), 0);
  Packed* const p = packed.get();
  auto storage = make_ref<Storage>(t.device(), 0, p, drop, p);
  packed.detach();
  return tensor_of(std::move(storage), t.sizes(), strides, t.dtype());
}

bool same_kind(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.sizes(), b.sizes()) && a.dtype() == b.dtype() &&
         a.device() == b.device();
}

}  // namespace

Tensor with_history(const Tensor& t, const Edge& edge) {
  Tensor y = alias(t);
  if (!edge) return y;
  if (edge.leaf) {
    auto node = make_ref<NodeOf<UnpackedBackward>>(UnpackedBackward{});
    node->next.push_back(edge);
    set_history(y, std::move(node));
    return y;
  }
  AutogradData& d = autograd_data(y);
  d.grad_fn = edge.node;
  d.output_nr = edge.nr;
  d.fresh_at = y.version();
  return y;
}

Saved Saved::hooked(const Tensor& t) {
  Saved s(t, t.version());
  if (modes.saved_hooks) s.pack();
  return s;
}

Saved Saved::output(const Tensor& y, uint32_t nr, bool hooks) {
  Saved s(alias(y), y.version());
  if (hooks) [[unlikely]]
    s.pack();
  s.output_nr_ = nr;
  s.is_output_ = true;
  return s;
}

void Saved::pack() {
  if (!modes.saved_hooks || tensor_.is_wrapped_number()) return;
  const Ref<SavedHooks> hooks = Ref<SavedHooks>::share(modes.saved_hooks);
  const uint32_t before = tensor_.version();
  Edge edge = gradient_edge(tensor_);
  Ref<Packed> packed = hooks->pack(tensor_);
  check(tensor_.version() == before, Code::autograd,
        "A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
        "pack hook can not be modified by in-place operations as this can lead to unexpected "
        "side-effects. Write to a clone() of it: ",
        tensor_);
  packed->edge_ = std::move(edge);
  tensor_ = stand_in(tensor_, std::move(packed));
  is_packed_ = true;
}

Tensor Saved::unpacked() const {
  const Ref<Packed> packed = Ref<Packed>::share(static_cast<Packed*>(tensor_.storage()->data()));
  UnpackedValues* const known = unpacked_values;
  if (known) {
    for (const auto& e : known->entries) {
      if (e.packed == packed) return e.value;
    }
  }
  Tensor data = packed->unpack();
  check(same_kind(data, tensor_), Code::autograd, "a saved tensor's unpack hook returned ", data,
        " for ", tensor_,
        "; it must give back a tensor of the shape, dtype and device that pack "
        "was given");
  Edge edge = packed->edge_;
  if (is_output_ && current_node) edge = {Ref<Node>::share(current_node), {}, output_nr_};
  if (edge) data = with_history(data, edge);
  if (known) known->entries.push_back({packed, data});
  return data;
}

Saved Saved::copy() const {
  Saved s;
  s.tensor_ = tensor_;
  s.version_ = version_;
  s.was_recorded_ = was_recorded_;
  s.is_output_ = is_output_;
  s.is_packed_ = is_packed_;
  s.output_nr_ = output_nr_;
  return s;
}

void Saved::fail_inference() {
  throw Error(
      Code::autograd,
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
      "inference mode in computation tracked by autograd",
      {}, "save a clone(), or make the tensor under no_grad() instead");
}

void Saved::fail_overwritten() const {
  const uint32_t now = tensor_.version();
  const char* op = current_node ? current_node->name() : "backward";
  const Writes& s = tensor_.writes();
  throw Error(Code::autograd,
              "one of the variables needed for gradient computation has been modified by an "
              "inplace operation",
              cat_text(describe(tensor_), ", saved by \"", op, "\" at version ", version_,
                       ", is at version ", now, ": \"", s.writer(), s.writer_suffix(),
                       "\" wrote to it between forward and backward"),
              *s.writer_suffix() == '_' ? cat_text("use the out-of-place form, \"", s.writer(),
                                                   "\", or write to a clone()")
                                        : "write to a clone(), or call backward() before");
}

Tensor Saved::get() const {
  if (!tensor_.defined()) return {};
  if (is_packed_) [[unlikely]]
    return unpacked();
  if (tensor_.version() != version_) [[unlikely]]
    fail_overwritten();
  if (was_recorded_ && !is_recorded(tensor_)) [[unlikely]]
    fail(Code::autograd,
         "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This "
         "is not supported, please use out-of-place `.detach()` instead: ",
         tensor_);
  if (!is_output_ || !current_node || !modes.grad) return tensor_;
  return with_history(tensor_, {Ref<Node>::share(current_node), {}, output_nr_});
}

}  // namespace flambeau
