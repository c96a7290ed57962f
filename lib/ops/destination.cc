// In-place writes: what may be written to, and how a write enters the graph. A write to a view
// replaces the history of its base by CopySlices: the base's old gradient outside the view, the
// op's inside.
#include "ops/destination.h"

#include <string_view>

#include "base/error.h"
#include "base/warning.h"
#include "graph/autograd_data.h"
#include "graph/mode.h"
#include "ops/gen/op.h"
#include "ops/ops.h"
#include "ops/scalar_name.h"
#include "tensor/order.h"
#include "tensor/parts.h"

namespace flambeau {

Destination::Destination(const Tensor& target, const Op& op, Kind kind)
    : target_(target), op_(op), kind_(kind), autocast_(modes.autocast) {
  ops::check_writable(target, op, kind);
  modes.autocast = false;
}
Destination::~Destination() { modes.autocast = autocast_; }

namespace {

struct CopySlices {
  Dims base_sizes, base_strides, view_sizes, view_strides;
  int64_t view_offset;
  Dtype dtype, base_dtype, view_dtype;  // of the layouts: reals where only one side is complex
  Device device;
  Ref<Node> inner;
  [[no_unique_address]] ServesOnce once{};
  static constexpr auto name = "CopySlices";

  Tensors operator()(const Tensor& dy) const {
    const Tensor whole = empty_strided(base_sizes, base_strides, dtype, device);
    ops::copy_(whole, as(dtype, dy));
    const Tensor slice =
        as(view_dtype, ops::as_strided(whole, view_sizes, view_strides, view_offset));
    const Tensor inside = ops::clone(slice);
    Node* outer = current_node;
    current_node = inner.get();
    Tensors result;
    try {
      result = inner->apply({&inside, 1});
    } catch (...) {
      current_node = outer;
      throw;
    }
    current_node = outer;
    result.resize(std::max<size_t>(inner->next.size(), 1));
    if (result[0]) {
      ops::copy_(slice, result[0]);
    } else {
      ops::zero_(slice);
    }
    result[0] = as(base_dtype, whole);
    return result;
  }

 private:
  // t, or the same in pairs or numbers.
  static Tensor as(Dtype dtype, const Tensor& t) {
    if (is_complex(dtype) == is_complex(t.dtype())) return t;
    return is_complex(dtype) ? ops::view_as_complex(t) : ops::view_as_real(t);
  }
};

}  // namespace

namespace ops {

namespace {

// Whose checks are older than the common one in torch, which has words of its own for them.
void fail_exact(std::string_view op, std::string_view part, Dtype made, Dtype given) {
  if (op == "searchsorted" || op == "bucketize") {
    fail(Code::dtype,
         "torch.searchsorted(): output tensor's dtype is wrong, it can only be "
         "Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output "
         "tensor's dtype ",
         scalar_name(given), " and out_int32 flag is ", made == Dtype::i32 ? "True" : "False");
  }
  if (op == "histogram") {
    fail(Code::dtype, "torch.histogram: input tensor and ", part,
         " tensor should have the same dtype, but got input ", name_of(made), " and ", part, " ",
         name_of(given));
  }
  if (op == "mode" || op == "kthvalue") {
    fail(Code::dtype, op, ": expected scalar type '", scalar_name(made), "' but got '",
         scalar_name(given), "' for ", part, " output");
  }
  if (op == "nonzero") {
    fail(Code::dtype, op, ": Expected out tensor to have scalar type ", scalar_name(made),
         " but got scalar type ", scalar_name(given));
  }
  if (op == "cummax" || op == "cummin") {
    fail(Code::dtype, op, ": expected scalar_type ", scalar_name(made), " but found ",
         scalar_name(given));
  }
  fail(Code::dtype, op, ": Expected out tensor to have dtype ", name_of(made), ", but got ",
       name_of(given), " instead");
}

void check_output_dtype(const char* op, Dtype made, Dtype given, bool cast,
                        std::string_view part = {}) {
  if (!cast && made != given) fail_exact(op, part, made, given);
  check(category_of(made) <= category_of(given), Code::dtype, op, ": result type ", name_of(made),
        " can't be cast to the desired output type ", name_of(given));
}

}  // namespace

// `name` may go on with that of one result of several: "mode.indices".
void check_output(const Tensor& out, const Tensor& result, const char* full_name, bool cast) {
  const std::string_view name = full_name;
  const std::string op(name.substr(0, name.find('.')));
  if (requires_grad(result) || (modes.grad && requires_grad(out))) fail_recorded_out(op.c_str());
  const std::string_view part = name.substr(std::min(op.size() + 1, name.size()));
  check_output_dtype(op.c_str(), result.dtype(), out.dtype(), cast, part);
}

}  // namespace ops

void rebase_history(const Tensor& t, Ref<Node> node) {
  const Tensor base = t.base();
  if (!base) {
    set_history(t, std::move(node));
    return;
  }
  if (t.impl()->creation != Creation::normal) fail_view(t, false);
  node->outputs.push_back(OutputMeta(t));
  const bool same = is_complex(base.dtype()) == is_complex(t.dtype());
  const RealLayout from = same ? RealLayout{Dims(base.sizes()), Dims(base.strides()), base.offset()}
                               : real_layout(base);
  const RealLayout to =
      same ? RealLayout{Dims(t.sizes()), Dims(t.strides()), t.offset()} : real_layout(t);
  CopySlices slices{from.sizes,
                    from.strides,
                    to.sizes,
                    to.strides,
                    to.offset - from.offset,
                    same ? t.dtype() : to_real(t.dtype()),
                    base.dtype(),
                    t.dtype(),
                    t.device(),
                    node};
  auto outer = make_ref<NodeOf<CopySlices>>(std::move(slices));
  outer->next.push_back(gradient_edge(base));
  for (size_t i = 1; i < node->next.size(); ++i) outer->next.push_back(node->next[i]);
  set_history(base, std::move(outer));
  autograd_data(t).fresh_at = t.version() - 1;  // stale: made anew from the base's
}

void Destination::prepare(DimsView sizes, Dtype dtype, Device device, DimsView strides) {
  const Tensor& t = target_;
  check(t.device() == device, Code::device_mismatch,
        "Expected all tensors to be on the same device, but ", op_, is_out() ? "(out=...)" : "_",
        " would write a result that is on ", to_string(device), " to ", t,
        "; move the destination or the operands");
  ops::check_output_dtype(op_, dtype, t.dtype(), kind_ != exact_out);
  const bool same = std::equal(sizes.begin(), sizes.end(), t.sizes().begin(), t.sizes().end());
  if (!same && is_out()) {
    ops::warn_of_resize(t, sizes);
    ops::resize_(t, sizes);
    if (!strides.empty()) t.impl()->set_geometry(t.offset(), sizes, strides);
  } else {
    check(same, Code::shape, op_, "_: output with shape ", ShapeText{t.sizes()},
          " doesn't match the broadcast shape ", ShapeText{sizes});
  }
}

uint32_t Destination::adopt() {
  const uint32_t before = target_.version();
  target_.writes().add(op_, is_out() ? "(out=...)" : "_");
  written_ = true;
  return before;
}

Tensor Destination::finish(const Tensor& result) {
  if (written_) return target_;
  if (is_out() && modes.grad && requires_grad(result)) ops::fail_recorded_out(op_);
  prepare(result.sizes(), result.dtype(), result.device());
  ops::copy_(target_, result);
  return target_;
}

namespace ops {

namespace {

[[noreturn]] void fail_overlap(const char* op) {
  fail(Code::invalid_argument, op,
       ": unsupported operation: some elements of the input tensor and the written-to tensor refer "
       "to a single memory location. Please clone() the tensor before performing the operation.");
}

}  // namespace

void check_no_overlap(Form form, std::initializer_list<const Tensor*> operands) {
  if (!form.destination) return;
  const Tensor& out = form.destination->target();
  const bool in_place = !form.destination->is_out();
  if (out.numel() == 0 || (in_place && !is_dense(out))) return;
  const auto end_of = [](const Tensor& t) {
    return static_cast<char*>(t.data()) +
           size_t(span_of(t.sizes(), t.strides())) * t.element_size();
  };
  for (const Tensor* x : operands) {
    if (in_place && !is_dense(*x)) continue;
    const bool shares = x->storage() == out.storage() && x->numel() > 0 &&
                        x->data() < end_of(out) && out.data() < end_of(*x);
    if (shares) fail_overlap(form.op);
  }
}

void check_no_partial_overlap(const char* op, const Tensor& target, const Tensor& x) {
  if (x.storage() != target.storage() || x.numel() == 0 || target.numel() == 0) return;
  if (x.is_same(target) || !is_dense(x) || !is_dense(target)) return;
  const auto* a = target.data_as<char>();
  const auto* b = x.data_as<char>();
  const bool meet = a < b + x.nbytes() && b < a + target.nbytes();
  const bool equal = a == b && x.nbytes() == target.nbytes() &&
                     std::equal(x.strides().begin(), x.strides().end(), target.strides().begin(),
                                target.strides().end());
  if (meet && !equal) fail_overlap(op);
}

Tensor apart(const Tensor& t, const Tensor& x) { return t.storage() == x.storage() ? clone(t) : t; }

void fail_recorded_out(const char* op) {
  throw Error(Code::autograd,
              cat_text(op,
                       "(): functions with out=... arguments don't support automatic "
                       "differentiation, but one of the arguments requires grad."),
              {}, "call it under no_grad(), or without out=");
}

void warn_of_resize(const Tensor& out, DimsView size) {
  const DimsView had = out.sizes();
  if (out.numel() == 0 || std::equal(size.begin(), size.end(), had.begin(), had.end())) return;
  warn("An output with one or more elements was resized since it had shape ", ShapeText{had},
       ", which does not match the required output shape ", ShapeText{size},
       ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
       "unless they have zero elements. Give it none first: out.resize_(0)");
}

namespace {

// Every element that shares a place with others gets the same value, or one of theirs.
bool takes_expanded(const Op& op, Destination::Kind kind) {
  return kind == Destination::inplace &&
         (&op == &op::index_fill || &op == &kIndexPutOp || &op == &op::masked_fill);
}

}  // namespace

void check_writable(const Tensor& target, const Op& op, Destination::Kind kind) {
  check_recorded(target, op, kind);
  for (size_t i = 0; i < target.sizes().size() && target.numel() > 0; ++i) {
    if (target.strides()[i] != 0 || target.sizes()[i] <= 1) [[likely]]
      continue;
    check(takes_expanded(op, kind), Code::invalid_argument, op,
          ": unsupported operation: more than one element of the written-to tensor refers to a "
          "single memory location. Please clone() the tensor before performing the operation.");
    return warn("Use of ", op, "_ on expanded tensors is deprecated. Please clone() the tensor ",
                "before performing this operation. This also applies to advanced indexing e.g. ",
                "tensor[mask] = scalar");
  }
}

void check_recorded(const Tensor& target, const char* op, Destination::Kind kind) {
  check(!target.impl()->inference || modes.inference, Code::autograd, op,
        ": Inplace update to inference tensor outside InferenceMode is not allowed.");
  if (!modes.grad) return;
  if (target.impl()->creation != Creation::normal && requires_grad(target)) [[unlikely]]
    fail_view(target, false);
  const bool leaf = requires_grad(target) && is_leaf(target);
  if (kind != Destination::inplace) {
    if (requires_grad(target)) fail_recorded_out(op);
    return;
  }
  check(!leaf, Code::autograd,
        "a leaf Variable that requires grad is being used in an in-place operation.", " \"", op,
        "_\" would change ", target, "; wrap it in no_grad(), or write to a clone()");
  const Tensor& base = target.base();
  check(!(base && requires_grad(base) && is_leaf(base)), Code::autograd,
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
        " \"", op, "_\" would change ", base, " through a view");
}

}  // namespace ops
}  // namespace flambeau
