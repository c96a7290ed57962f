// Getters and memory of tensor handles. Elements cross to the host in one place, host_copy.
#include "capi/gen/targets.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "capi/callback.h"
#include "capi/handle_table.h"
#include "graph/mode.h"
#include "ops/ops.h"
#include "tensor/defaults.h"
#include "tensor/order.h"
#include "tensor/parts.h"

namespace flambeau::capi {

namespace {

// The elements in C order in host memory that is safe to read.
Tensor host_copy(const Tensor& t) {
  const GradMode off(false);
  Tensor host = ops::contiguous(ops::to_device(t, kCpu, false));
  wait_for_host_access(host.storage()->block());
  return host;
}

void check_dtype(Dtype dtype, const char* op) {
  check(is_valid(dtype), Code::dtype, op, ": unknown dtype ", int(dtype));
}

Tensor only_element(const Tensor& t) {
  check(t.numel() == 1, Code::shape, "a Tensor with ", t.numel(),
        " elements cannot be converted to Scalar: ", t);
  check(!t.device().is_meta(), Code::unsupported, "Tensor.item() cannot be called on meta tensors");
  return host_copy(t);
}

}  // namespace

void forget_hidden_base(const Tensor& result) {
  TensorImpl& t = *result.impl();
  if (t.use_count() > 1 || t.base.impl()->use_count() > 1) return;
  if (requires_grad(t.base)) {
    if (t.creation != Creation::normal || !grad_fn(result))
      return;  // what flows back is the base's
  }
  t.creation = Creation::normal;
  t.base = Tensor();
}

void tensor_release(const Tensor& t) {
  if (t) t.impl()->release();
}

Ref<flam_tensor_list> tensor_list_new(TensorsView tensors) {
  return make_list({tensors.begin(), tensors.end()});
}

void tensor_list_append(flam_tensor_list* list, const Tensor& t) { list->tensors.push_back(t); }

flam_tensor* const* tensor_list_data(const flam_tensor_list* list) {
  return lent_handles(list->tensors);
}

size_t tensor_list_size(const flam_tensor_list* list) { return list->tensors.size(); }

Tensor tensor_list_get(const flam_tensor_list* list, size_t index) {
  check(index < list->tensors.size(), Code::index, "index ", index,
        " is out of bounds for a list of ", list->tensors.size(), " tensors");
  return list->tensors[index];
}

void tensor_list_release(flam_tensor_list* list) {
  if (list) list->release();
}

// ---- geometry
// --------------------------------------------------------------------------------------------

Dtype tensor_dtype(const Tensor& t) { return t.dtype(); }
Device tensor_device(const Tensor& t) { return t.device(); }
int64_t tensor_dim(const Tensor& t) { return t.dim(); }

int64_t tensor_size(const Tensor& t, int64_t dim) {
  if (dim < 0) dim += t.dim();
  return dim >= 0 && dim < t.dim() ? t.sizes()[size_t(dim)] : -1;
}

const int64_t* tensor_sizes(const Tensor& t) { return t.sizes().data(); }
const int64_t* tensor_strides(const Tensor& t) { return t.strides().data(); }
int64_t tensor_storage_offset(const Tensor& t) { return t.offset(); }
int64_t tensor_numel(const Tensor& t) { return t.numel(); }
int64_t tensor_element_size(const Tensor& t) { return int64_t(t.element_size()); }
int64_t tensor_nbytes(const Tensor& t) { return int64_t(t.nbytes()); }

int64_t tensor_use_count(const Tensor& t) { return t.impl()->use_count(); }
bool tensor_is_contiguous(const Tensor& t) { return t.is_contiguous(); }
bool tensor_is_wrapped_number(const Tensor& t) { return t.is_wrapped_number(); }

// ---- memory
// ----------------------------------------------------------------------------------------------

void* tensor_data_ptr(const Tensor& t) {
  return t.numel() > 0 && t.storage()->data() && !t.device().is_meta() ? t.data() : nullptr;
}

void* tensor_host_data(const Tensor& t) {
  check(t.device().is_cpu(), Code::device_mismatch, "the host cannot address ", t,
        "; copy it with to(\"cpu\")");
  wait_for_host_access(t.storage()->block());
  return tensor_data_ptr(t);
}

void tensor_fix_memory(const Tensor& t) { t.storage()->fix(); }
void tensor_mark_written(const Tensor& t) { t.writes().add("a write through data_ptr"); }
int64_t tensor_version(const Tensor& t) { return t.version(); }

bool tensor_is_pinned(const Tensor& t) {
  return t.device().is_cpu() && (t.storage()->pinned() || is_pinned(t.storage()->data()));
}

Tensor tensor_pin_memory(const Tensor& t) {
  check(t.device().is_cpu(), Code::device_mismatch, "cannot pin ", t,
        ": only dense CPU tensors can be pinned");
  if (tensor_is_pinned(t)) return t;
  const GradMode off(false);
  const Dims strides = is_dense(t) ? Dims(t.strides()) : dense_strides(t);
  return ops::copy_(empty_pinned(t.sizes(), strides, t.dtype()), t);
}

bool tensor_shares_storage(const Tensor& a, const Tensor& b) { return a.storage() == b.storage(); }
void* tensor_storage_data(const Tensor& t) { return t.storage()->data(); }
int64_t tensor_storage_nbytes(const Tensor& t) { return int64_t(t.storage()->bytes()); }

void tensor_record_stream(const Tensor& t, const flam_stream* stream) {
  check(stream->stream.device == t.device(), Code::device_mismatch,
        "record_stream: the stream is on ", to_string(stream->stream.device), ", the tensor is ",
        t);
  if (Block* block = t.storage()->block()) record_stream(block, stream->stream);
}

Tensor tensor_from_data(const void* data, DimsView size, Dtype dtype, Device device,
                        bool requires_grad) {
  check_dtype(dtype, "from_data");
  Tensor t = ops::empty(size, dtype, device, requires_grad);
  check(data || !t.nbytes(), Code::invalid_argument, "from_data: no data for ", t);
  if (t.nbytes()) copy_bytes(t.data(), t.device(), data, kCpu, t.nbytes(), false);
  return t;
}

Tensor tensor_from_blob(void* data, DimsView size, DimsView stride, Dtype dtype, Device device,
                        void (*drop)(void* user), void* user) {
  // From here on the storage owns the memory: whatever throws drops it once.
  struct Guard {
    void (*drop)(void*);
    void* user;
    ~Guard() {
      if (drop) drop(user);
    }
  } guard{drop, user};
  Handed::claim(user);
  check_dtype(dtype, "from_blob");
  const Dims strides = stride.data() ? Dims(stride) : contiguous_strides(size);
  check(strides.size() == size.size(), Code::shape, "from_blob: ", size.size(), " sizes but ",
        strides.size(), " strides");
  for (int64_t s : strides) check(s >= 0, Code::shape, "from_blob: negative stride ", s);
  const int64_t reach = span_of(size, strides);
  check(data || !reach, Code::invalid_argument, "from_blob: no data for shape ", ShapeText{size});
  auto storage = make_ref<Storage>(resolve(device ? device : kCpu), size_t(reach) * size_of(dtype),
                                   data, drop, user);
  guard.drop = nullptr;
  return tensor_of(std::move(storage), size, strides, dtype);
}

void tensor_to_host(const Tensor& t, void* buffer, size_t nbytes) {
  check(nbytes == t.nbytes(), Code::invalid_argument, "to_host: the buffer has ", nbytes,
        " bytes, ", t, " has ", t.nbytes());
  if (!nbytes) return;
  check(buffer, Code::invalid_argument, "to_host: no buffer for ", t);
  const GradMode off(false);
  const Tensor dense = ops::contiguous(t);
  copy_bytes(buffer, kCpu, dense.data(), dense.device(), nbytes, false);
}

double tensor_item_f64(const Tensor& t) {
  const probe::Span span(probe::Kind::op, "item");
  const Tensor host = only_element(t);
  return with_dtype(host.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return double(
        static_cast<std::conditional_t<(sizeof(T) == 2 && !std::is_integral_v<T>), float, T>>(
            *host.data_as<T>()));
  });
}

std::tuple<double, double> tensor_item_c128(const Tensor& t) {
  if (!is_complex(t.dtype())) return {tensor_item_f64(t), 0};
  const Tensor host = only_element(t);
  return {tensor_item_f64(part_of(host, 0)), tensor_item_f64(part_of(host, 1))};
}

int64_t tensor_item_i64(const Tensor& t) {
  const probe::Span span(probe::Kind::op, "item");
  if (!is_floating(t.dtype())) {
    const Tensor host = only_element(t);
    return with_dtype(host.dtype(), [&](auto tag) {
      return static_cast<int64_t>(*host.data_as<typename decltype(tag)::type>());
    });
  }
  const double v = std::trunc(tensor_item_f64(t));
  check(v >= -0x1p63 && v < 0x1p63, Code::invalid_argument, "cannot convert float ", v,
        " to integer");
  return int64_t(v);
}

void tensor_set_data(const Tensor& t, const Tensor& src) {
  check(!requires_grad(t) || is_differentiable(src.dtype()), Code::dtype,
        "data set to a tensor that requires gradients must be floating point or complex dtype, ",
        "got ", src);
  t.impl()->take_data(src);
  t.impl()->base = Tensor();
}

Tensor tensor_detach_data(const Tensor& t) {
  Tensor apart = alias(t);
  apart.impl()->own_writes = make_ref<OwnWrites>();
  return apart;
}

// ---- autograd
// --------------------------------------------------------------------------------------------

bool tensor_requires_grad(const Tensor& t) { return requires_grad(t); }

void tensor_set_requires_grad(const Tensor& t, bool on) {
  if (!is_leaf(t)) {
    check(
        on, Code::autograd,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a subgraph that doesn't require differentiation use var_no_grad = "
        "var.detach().");
    return;
  }
  check(!on || is_differentiable(t.dtype()), Code::dtype,
        "only Tensors of floating point dtype can require gradients, got ", t);
  check(!on || !t.impl()->inference || modes.inference, Code::autograd,
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (on || t.impl()->autograd) autograd_data(t).requires_grad = on;
}

bool tensor_is_leaf(const Tensor& t) { return is_leaf(t); }

Tensor tensor_grad(const Tensor& t) {
  const AutogradData* d = t.impl()->autograd.get();
  return d ? d->grad : Tensor();
}

void tensor_set_grad(const Tensor& t, const Tensor& grad) {
  if (!grad) {
    if (t.impl()->autograd) t.impl()->autograd->grad = Tensor();
    return;
  }
  check(!grad.is_same(t), Code::invalid_argument, "can't assign Variable as its own grad");
  check(grad.dtype() == t.dtype(), Code::dtype,
        "assigned grad has data of a different type: ", grad, " for ", t);
  check(grad.device() == t.device(), Code::device_mismatch,
        "assigned grad has data located on a different device: ", grad, " for ", t);
  check(std::equal(grad.sizes().begin(), grad.sizes().end(), t.sizes().begin(), t.sizes().end()),
        Code::shape, "assigned grad has data of a different size: ", grad, " for ", t);
  autograd_data(t).grad = grad;
}

bool tensor_is_view(const Tensor& t) { return t.base().defined(); }
Tensor tensor_base(const Tensor& t) { return t.base(); }
bool tensor_is_inference(const Tensor& t) { return t.impl()->inference; }

const char* tensor_grad_fn_name(const Tensor& t) {
  const Ref<Node>& node = grad_fn(t);
  return node ? node->name() : nullptr;
}

// ---- defaults
// --------------------------------------------------------------------------------------------

void set_default_dtype(Dtype dtype) {
  check(is_floating(dtype), Code::dtype,
        "only floating-point types are supported as the default type, got ", name_of(dtype));
  defaults().dtype = dtype;
}
Dtype get_default_dtype() { return defaults().dtype; }

void set_default_device(Device device) {
  resolve(device ? device : kCpu);
  defaults().device = device ? device : kCpu;
}
Device get_default_device() { return defaults().device; }

}  // namespace flambeau::capi
