// The one class through which every op goes: device check, autocast, promotion, output, launch and
// autograd sit here and nowhere else. An op makes a Call, runs a kernel through it and hands the
// result to track() with its gradient, or to constant() where it has none.
#pragma once
#include <initializer_list>

#include "device/probe.h"
#include "graph/mode.h"
#include "graph/saved.h"
#include "kernels/map/map.h"
#include "ops/destination.h"
#include "ops/gen/op.h"

namespace flambeau {

// Whether operands must share a device: elementwise kernels take 0-d cpu tensors beside others by
// value, kernels that read an operand's memory do not, and copies may cross.
enum class Devices : int8_t { same, exact, any };

// Where a tensor stands, for the length of a call: one made on the spot would be gone when it is
// read.
struct Operand {
  Operand(const Tensor& t) : tensor(&t) {}  // NOLINT: implicit by design
  Operand(Tensor&&) = delete;
  const Tensor* tensor;
};

class Call {
 public:
  // Operands in the ABI's order; undefined ones are allowed where the op allows them. An op made of
  // others has a Call of its own where autocast has a rule for it, and goes on with its operands;
  // autocast rests meanwhile. In place or with an out=, `form` is `op::add.to(into)`.
  Call(Form form, std::initializer_list<Operand> operands, Devices devices = Devices::same)
      : Call(form, std::span<const Operand>(operands.begin(), operands.size()), devices) {}
  Call(Form form, std::span<const Operand> operands, Devices devices = Devices::same);
  [[gnu::always_inline]] ~Call() {
    if (casting_) [[unlikely]]
      modes.autocast = true;
    if (span_) [[unlikely]]
      probe::end(span_);
  }
  Call(const Call&) = delete;

  const Op& op() const { return op_; }
  Device device() const { return device_; }
  bool needs_grad() const { return grad_; }
  // Operand i, after autocast and promotion.
  const Tensor& operator[](size_t i) const { return *in_[i]; }
  size_t size() const { return in_.size(); }

  // Converts all operands to one dtype, torch's promotion of them, and returns it.
  Dtype promote();
  Dtype promoted() const;  // that dtype alone
  // An out= destination's dtype, in which some ops compute where none is asked for; else none.
  Dtype out_dtype() const {
    return into_ && into_->is_out() ? into_->target().dtype() : Dtype::none;
  }
  void convert(size_t i, Dtype dtype);  // differentiable
  void convert_all(Dtype dtype);

  // The result of an elementwise kernel over operands that were broadcast; keyed by the last one's
  // dtype.
  Tensor map(const Kernel& k, std::initializer_list<Operand> xs, MapParams params = {});
  // An output to be written by the op itself; the destination of an in-place or out call where it
  // fits; a new one lies with its channels last where that is said.
  Tensor output(DimsView sizes, Dtype dtype, bool channels_last = false);
  Tensor output(DimsView sizes) { return output(sizes, in_[0]->dtype()); }

  // The same of an elementwise op, which writes a destination whatever its steps: in the order of
  // the operands' steps, as map() has it.
  Tensor output_in_order(DimsView sizes, Dtype dtype);

  // Operand 0 as something to change: the destination itself in place, else a copy that becomes the
  // result.
  Tensor changeable();

  // For an op that only exists in place: its target, counted as written from here on.
  const Tensor& write_target() { return adopt_target(); }

  // An operand or a result kept for backward; nothing is kept where no gradient is needed.
  // `needed`: by a gradient that somebody wants. To be called before the kernel runs: an in-place
  // form overwrites its operand.
  Saved save(const Tensor& x, bool needed = true) const;
  bool wants(size_t i) const { return in_[i]->defined() && requires_grad(*in_[i]); }
  Saved save_output(const Tensor& y) const {
    return grad_ ? Saved::output(y, 0, saved_hooks_) : Saved();
  }

  // Records the gradient: `f(dy)` returns one gradient per operand, in order. Gradients are reduced
  // to the operands' shapes and dtypes afterwards, so a formula need not undo broadcasting.
  template <class F> Tensor track(Tensor y, F&& f) {
    if (grad_) attach({&y, 1}, make_node(std::forward<F>(f)));
    return y;
  }
  template <class F> void track_all(std::span<Tensor> ys, F&& f) {
    if (grad_) attach(ys, make_node(std::forward<F>(f)));
  }
  // For results that carry no gradient (integers, indices, comparisons).
  Tensor constant(Tensor y);
  // For float results whose gradient nobody has derived: asking for it fails now, with the op's
  // name.
  Tensor no_gradient(Tensor y);

 private:
  template <class F> static Ref<Node> make_node(F&& f) {
    return make_ref<NodeOf<std::remove_cvref_t<F>>>(std::forward<F>(f));
  }
  [[noreturn]] void fail_devices(std::span<const Operand> operands, Devices devices);
  void apply_autocast();
  void open_span();
  Dtype widest_cast(bool cpu) const;
  std::string as_call() const;
  [[noreturn]] void fail_shapes(DimsView a, DimsView b) const;
  void replace(size_t i, Tensor t);
  const Tensor& adopt_target();
  bool overlaps_operand(const Tensor& t) const;
  void attach(std::span<Tensor> ys, Ref<Node> node);

  const Op& op_;
  Device device_;
  bool grad_ = false;
  bool saved_hooks_ = false;  // are set
  bool casting_ = false;      // autocast had a rule for this op, and rests until it is done
  probe::Token span_ = 0;     // while a profiler listens
  Destination* into_;         // of an in-place or out form, else null
  uint32_t version_before_ = 0;
  SmallVector<const Tensor*, 4> in_;
  SmallVector<Tensor, 4>
      owned_;  // converted operands, by position; sized at once so that in_ stays valid
};

}  // namespace flambeau
