// What every op has in common: which device it runs on, what its operands become, where its result
// goes and how it enters the graph.
#include "ops/call.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "device/label.h"
#include "device/step.h"
#include "ops/autocast.h"
#include "ops/complex_gate.h"
#include "ops/complex_parts.h"
#include "ops/ops.h"
#include "tensor/order.h"

namespace flambeau {

std::string (*tensor_owner)(const Tensor&) = nullptr;

namespace {

bool is_host_scalar(const Tensor& t) { return t.dim() == 0 && t.device().is_cpu(); }

bool broadcastable(DimsView a, DimsView b) {
  const size_t shared = std::min(a.size(), b.size());
  for (size_t i = 1; i <= shared; ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

bool same_geometry(const Tensor& a, const Tensor& b) {
  return a.offset() == b.offset() && a.dtype() == b.dtype() &&
         std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin(), b.sizes().end()) &&
         std::equal(a.strides().begin(), a.strides().end(), b.strides().begin(), b.strides().end());
}

void launch(const Op& op, const Kernel& k, Dtype dtype, const Tensor& y,
            std::span<const Tensor* const> inputs, MapParams params) {
  if (is_complex(dtype)) [[unlikely]]
    return run_map_by_parts(op, k, y, inputs, params);
  run_map(op, k, dtype, y, inputs, params);
}

// Of an elementwise result, in the order of its operands' steps; none: C order.
Dims strides_over(std::span<const Tensor* const> inputs, DimsView sizes, bool same_shape) {
  bool in_c_order = same_shape || std::ranges::find(sizes, 1) == sizes.end();
  for (const Tensor* x : inputs) in_c_order &= x->is_contiguous();
  return in_c_order ? Dims() : dense_strides(inputs, sizes);
}

Tensor empty_in_order(DimsView sizes, DimsView strides, Dtype dtype, Device device) {
  return strides.empty() ? flambeau::empty(sizes, dtype, device)
                         : empty_strided(sizes, strides, dtype, device);
}

// What an in-place constant (zero_, eq_) does to its target's history: slopes of 0, as in torch.
struct ConstantBackward {
  static constexpr auto name = "constant";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? ops::zeros(dy.sizes(), dy.dtype(), dy.device()) : Tensor()};
  }
};

// Whether an operand's device matters.
bool has_place(const Tensor& t, Devices devices) {
  return t.defined() && (devices == Devices::exact || !is_host_scalar(t));
}

// The device whose operands are to move: the cpu where the others are on a GPU, since a program
// that uses a GPU wants its data there; else the one that fewest operands are on.
Device odd_device(std::span<const Operand> operands, Devices devices) {
  Device odd;
  std::ptrdiff_t fewest = PTRDIFF_MAX;
  for (const Operand& o : operands) {
    if (!has_place(*o.tensor, devices)) continue;
    const Device device = o.tensor->device();
    if (device.is_cpu()) return device;
    const auto same = std::count_if(operands.begin(), operands.end(), [&](const Operand& p) {
      return has_place(*p.tensor, devices) && p.tensor->device() == device;
    });
    if (same < fewest) fewest = same, odd = device;
  }
  return odd;
}

// Of the first operand that is no parameter and came from none: at the start of a step, its batch.
int64_t leading_size_of_data(std::span<const Operand> operands) {
  for (const Operand& o : operands) {
    if (o.tensor->defined() && o.tensor->dim() > 0 && !requires_grad(*o.tensor))
      return o.tensor->sizes()[0];
  }
  return 0;
}

}  // namespace

Call::Call(Form form, std::span<const Operand> operands, Devices devices)
    : op_(form.op), into_(form.destination) {
  const bool has_rows =
      !operands.empty() && operands[0].tensor->defined() && operands[0].tensor->dim() > 0;
  t_label.op = op_.name;  // what the allocator writes on the blocks that follow
  t_label.rows = has_rows ? operands[0].tensor->sizes()[0] : 0;
  in_.reserve(operands.size());
  const bool recording = modes.grad;
  saved_hooks_ = modes.saved_hooks != nullptr;
  for (const Operand& o : operands) {
    in_.push_back(o.tensor);
    if (!o.tensor->defined()) continue;
    const Tensor& t = *o.tensor;
    if (t.storage()->pinned() && devices != Devices::any) [[unlikely]]
      wait_for_host_access(t.storage()->block());
    if (!device_ || (t.device() != device_ && has_place(t, devices))) {
      if (device_ && device_ != t.device()) {
        // The first operands may have been host scalars: any device wins over those.
        bool only_scalars = true;
        for (const Operand* p = operands.data(); p != &o; ++p) {
          only_scalars &= !has_place(*p->tensor, devices);
        }
        if (!only_scalars && devices != Devices::any) fail_devices(operands, devices);
      }
      device_ = t.device();
    }
    if (is_complex(t.dtype())) [[unlikely]]
      check_takes_complex(op_, t.dtype());
    if (recording && !grad_) grad_ = requires_grad(t) && is_differentiable(t.dtype());
  }
  if (grad_ && !in_forward()) note_forward(leading_size_of_data(operands));
  if (into_ && grad_) [[unlikely]] {
    if (into_->is_out()) ops::fail_recorded_out(op_);
    if (into_->target().impl()->creation != Creation::normal) fail_view(into_->target(), false);
  }
  if (modes.autocast) [[unlikely]]
    apply_autocast();
  if (probe::on()) [[unlikely]]
    open_span();
}

void Call::open_span() {
  SmallVector<int64_t, 16> shapes;
  for (const Tensor* t : in_) {
    if (!probe::wants_shapes()) break;
    shapes.push_back(t->defined() ? int64_t(t->dtype()) : 0);
    shapes.push_back(t->defined() ? t->dim() : 0);
    for (int64_t i = 0; t->defined() && i < t->dim(); ++i) shapes.push_back(t->sizes()[size_t(i)]);
  }
  span_ = probe::begin_op(op_, device_, {shapes.begin(), shapes.size()});
}

// Throws: names every operand, the odd one out, the module it belongs to and the line that mends
// it.
void Call::fail_devices(std::span<const Operand> operands, Devices devices) {
  std::string facts = std::string(op_) + "(";
  for (size_t i = 0; i < operands.size(); ++i) {
    facts += cat_text(i ? ", " : "", op_.operand(i), ": ", describe(*operands[i].tensor));
  }
  facts += ")";
  const Device odd = odd_device(operands, devices);
  const auto other = std::find_if(operands.begin(), operands.end(), [&](const Operand& o) {
    return has_place(*o.tensor, devices) && o.tensor->device() != odd;
  });
  const Device others = other->tensor->device();
  const std::string place = cat_text(".to(\"", to_string(others), "\")");
  std::string names, moves, owner;
  size_t count = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor& t = *operands[i].tensor;
    if (!has_place(t, devices) || t.device() != odd) continue;
    names += cat_text(count ? " and " : "", op_.operand(i));
    moves += cat_text(count++ ? ", " : "", op_.operand(i), place);
    if (owner.empty() && tensor_owner) owner = tensor_owner(t);
  }
  std::string cause = cat_text(names, count > 1 ? " are on " : " is on ", to_string(odd),
                               ", the others on ", to_string(others));
  if (!owner.empty()) cause += (count > 1 ? "; the first is " : "; it is ") + owner;
  throw Error(Code::device_mismatch,
              cat_text("Expected all tensors to be on the same device, but found at least two "
                       "devices, ",
                       to_string(others), " and ", to_string(odd), "!"),
              facts + "\n" + cause,
              owner.empty() ? "move " + std::string(count > 1 ? "them: " : "it: ") + moves
                            : "move the module: model" + place);
}

// "add(input: f32[3] on cpu, other: f32[4] on cpu)".
std::string Call::as_call() const {
  std::string text = std::string(op_) + "(";
  for (size_t i = 0; i < in_.size(); ++i) {
    text += cat_text(i ? ", " : "", op_.operand(i), ": ", describe(*in_[i]));
  }
  return text + ")";
}

// Throws: the sizes that differ, in torch's words, and the operands they belong to.
void Call::fail_shapes(DimsView a, DimsView b) const {
  const size_t n = std::max(a.size(), b.size());
  for (size_t d = n; d-- > 0;) {
    const int64_t x = d + a.size() < n ? 1 : a[d + a.size() - n];
    const int64_t y = d + b.size() < n ? 1 : b[d + b.size() - n];
    if (x == y || x == 1 || y == 1) continue;
    throw Error(Code::shape,
                cat_text("The size of tensor a (", x, ") must match the size of tensor b (", y,
                         ") at non-singleton dimension ", d),
                as_call(), "sizes broadcast where they are equal or one of them is 1");
  }
  fail(Code::internal, op_, ": shapes ", to_string(a), " and ", to_string(b));
}

void Call::replace(size_t i, Tensor t) {
  if (owned_.empty()) owned_.resize(in_.size());
  owned_[i] = std::move(t);
  in_[i] = &owned_[i];
}

void Call::convert(size_t i, Dtype dtype) {
  const Tensor& t = *in_[i];
  if (!t.defined() || t.dtype() == dtype) return;
  const bool wrapped = t.is_wrapped_number();
  Tensor converted = ops::to_dtype(t, dtype);
  if (wrapped) converted.impl()->wrapped_number = true;
  replace(i, std::move(converted));
}

void Call::convert_all(Dtype dtype) {
  for (size_t i = 0; i < in_.size(); ++i) convert(i, dtype);
}

Dtype Call::promoted() const {
  const Dtype first = in_[0]->dtype();
  bool uniform = true;
  for (const Tensor* t : in_) {
    uniform &= !t->defined() || (t->dtype() == first && !t->is_wrapped_number());
  }
  return uniform ? first : result_type(in_);
}

Dtype Call::promote() {
  const Dtype dtype = promoted();
  convert_all(dtype);
  return dtype;
}

// torch's order of precedence: f32 where an operand is f32; f64 ones do not count.
Dtype Call::widest_cast(bool cpu) const {
  const Dtype lower = autocast_of(cpu).dtype;
  Dtype widest = lower;
  for (const Tensor* t : in_) {
    if (!is_cast(*t, cpu)) continue;
    if (t->dtype() == Dtype::f32) widest = Dtype::f32;
    check(t->dtype() == Dtype::f32 || t->dtype() == lower, Code::dtype, op_,
          ": Unexpected floating ScalarType in at::autocast::prioritize: ", *t,
          " while autocast's ", "dtype is ", name_of(lower),
          ". Convert it with .to(dtype), or open autocast with its own");
  }
  return widest;
}

void Call::apply_autocast() {
  const bool cpu = !device_ || device_.is_cpu();
  if (!autocast_of(cpu).enabled || device_.is_meta()) return;
  const CastRule rule = cpu ? op_.cpu : op_.device;
  if (rule == CastRule::keep) return;
  if (rule == CastRule::banned) {
    throw Error(Code::dtype, cat_text("torch.nn.functional.", op_, " is unsafe to autocast"),
                as_call() + "\nits operands need a range that the lower dtype does not have",
                cat_text("of logits take ", op_,
                         "_with_logits, which is safe; or convert to "
                         "float32 and call it under autocast(enabled=False)"));
  }
  const Dtype dtype = rule == CastRule::lower ? autocast_of(cpu).dtype
                      : rule == CastRule::f32 ? Dtype::f32
                                              : widest_cast(cpu);
  for (size_t i = 0; i < in_.size() && rule != CastRule::rest; ++i) {
    const Tensor& t = *in_[i];
    if (is_cast(t, cpu) && t.dtype() != dtype) replace(i, cast_operand(t, dtype));
  }
  modes.autocast = false;
  casting_ = true;
}

// The destination becomes the result: from here on it counts as written by this op.
const Tensor& Call::adopt_target() {
  version_before_ = into_->adopt();
  return into_->target();
}

bool Call::overlaps_operand(const Tensor& t) const {
  for (const Tensor* x : in_) {
    if (!x->defined() || x->storage() != t.storage() || same_geometry(*x, t)) continue;
    ops::check_no_partial_overlap(op_, t, *x);
    return true;
  }
  return false;
}

Tensor Call::map(const Kernel& k, std::initializer_list<Operand> xs, MapParams params) {
  const Tensor* inputs[kMapOperands] = {};
  size_t n = 0;
  for (const Operand& x : xs) inputs[n++] = x.tensor;
  const Dtype dtype = inputs[n - 1]->dtype();
  const Dtype result = k.result == Dtype::none ? dtype : k.result;

  const Tensor& first = *inputs[0];
  bool same_shape = true;
  for (size_t i = 1; i < n; ++i) {
    same_shape &= std::equal(first.sizes().begin(), first.sizes().end(), inputs[i]->sizes().begin(),
                             inputs[i]->sizes().end());
  }
  Dims shape;
  if (!same_shape) {
    shape = Dims(first.sizes());
    for (size_t i = 1; i < n; ++i) {
      if (!broadcastable(shape, inputs[i]->sizes())) fail_shapes(shape, inputs[i]->sizes());
      shape = broadcast_shapes(shape, inputs[i]->sizes());
    }
  }
  const DimsView sizes = same_shape ? first.sizes() : DimsView(shape);

  const Dims strides = strides_over({inputs, n}, sizes, same_shape);
  if (into_) {
    const Tensor& target = into_->target();
    into_->prepare(sizes, result, device_, strides);
    if (target.dtype() == result && !overlaps_operand(target)) {
      const Tensor& y = adopt_target();
      launch(op_, k, dtype, y, {inputs, n}, params);
      return y;
    }
    Tensor y = flambeau::empty(sizes, result, device_);
    launch(op_, k, dtype, y, {inputs, n}, params);
    const Tensor& t = adopt_target();
    run_cast(t, y);
    return t;
  }

  Tensor y = empty_in_order(sizes, strides, result, device_);
  launch(op_, k, dtype, y, {inputs, n}, params);
  return y;
}

Tensor Call::output(DimsView sizes, Dtype dtype, bool channels_last) {
  if (is_complex(dtype)) [[unlikely]]
    check_takes_complex(op_, dtype);
  if (into_) {
    into_->prepare(sizes, dtype, device_);
    const Tensor& target = into_->target();
    bool aliased = false;
    for (const Tensor* x : in_) aliased |= x->defined() && x->storage() == target.storage();
    if (!aliased && target.dtype() == dtype && target.is_contiguous()) return adopt_target();
  }
  Tensor y = empty_image(sizes, dtype, device_, channels_last);
  return y;
}

Tensor Call::output_in_order(DimsView sizes, Dtype dtype) {
  if (is_complex(dtype)) [[unlikely]]
    check_takes_complex(op_, dtype);
  const bool same_shape = std::ranges::all_of(
      in_, [&](const Tensor* x) { return std::ranges::equal(x->sizes(), sizes); });
  const Dims strides = strides_over(in_, sizes, same_shape);
  if (into_) {
    into_->prepare(sizes, dtype, device_, strides);
    const Tensor& target = into_->target();
    const bool apart = std::ranges::none_of(
        in_, [&](const Tensor* x) { return x->storage() == target.storage(); });
    if (apart && target.dtype() == dtype) return adopt_target();
  }
  return empty_in_order(sizes, strides, dtype, device_);
}

Tensor Call::changeable() {
  const Tensor& x = *in_[0];
  const bool in_place = into_ && x.is_same(into_->target());
  bool shared = false;
  for (size_t i = 1; i < in_.size(); ++i) {
    if (!in_[i]->defined() || in_[i]->storage() != x.storage()) continue;
    shared = true;
    if (in_place && !into_->is_out()) ops::check_no_overlap(op_.to(*into_), {in_[i]});
  }
  if (in_place && !shared) return adopt_target();
  Tensor y = output(x.sizes());
  run_cast(y, x);
  return y;
}

Saved Call::save(const Tensor& x, bool needed) const {
  if (!grad_ || !needed || !x.defined()) return {};
  // What an in-place op is about to overwrite is kept as a copy, as torch does.
  if (into_ && !into_->written() && !into_->is_out() && x.storage() == into_->target().storage()) {
    return Saved::hooked(ops::clone(x));
  }
  // What is overwritten already is not for hooks: reading it will fail.
  const bool overwritten = into_ && into_->written() && x.storage() == into_->target().storage();
  if (saved_hooks_ && !overwritten) [[unlikely]]
    return Saved::hooked(x);
  return Saved(x, overwritten ? version_before_ : x.version());
}

Tensor Call::constant(Tensor y) {
  if (modes.grad && into_ && into_->written() && y.is_same(into_->target()) && requires_grad(y)) {
    in_.clear();
    in_.push_back(&into_->target());
    Tensor t = y;
    attach({&t, 1}, make_node(ConstantBackward{}));
  }
  return y;
}

Tensor Call::no_gradient(Tensor y) {
  if (grad_)
    fail(Code::unsupported, "the derivative of \"", op_, "\" is not implemented; ",
         "call it under no_grad() or on a detached operand");
  return y;
}

void Call::attach(std::span<Tensor> ys, Ref<Node> node) {
  node->module = t_label.module;
  if (probe::on()) [[unlikely]]
    probe::note_sequence(node->sequence);
  for (const Tensor* t : in_) {
    node->next.push_back(t->defined() && is_differentiable(t->dtype()) ? gradient_edge(*t)
                                                                       : Edge{});
  }
  for (Tensor& y : ys) {
    if (!is_differentiable(y.dtype())) {  // keeps output numbers in step with the op's results
      node->outputs.push_back(OutputMeta(y));
    } else if (into_ && into_->written() && y.is_same(into_->target())) {
      rebase_history(y, node);
    } else {
      set_history(y, node);
    }
  }
}

}  // namespace flambeau
