// The tensor: a shape, strides and dtype over a shared storage, plus a slot for autograd's data.
// `Tensor` is one intrusive pointer; an ABI handle `flam_tensor *` is the TensorImpl's address with
// one count. Geometry never changes after construction except through set_geometry (resize_, module
// moves).
#pragma once
#include <iosfwd>
#include <memory>
#include <span>

#include "base/device.h"
#include "base/dtype.h"
#include "base/ref.h"
#include "base/small_vector.h"
#include "tensor/storage.h"

namespace flambeau {

struct AutogradData;  // graph/autograd_data.h
void destroy(AutogradData*) noexcept;
struct AutogradDeleter {
  void operator()(AutogradData* d) const noexcept { destroy(d); }
};

class TensorImpl;

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return bool(impl_); }
  explicit operator bool() const { return defined(); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* detach_handle() { return impl_.detach(); }
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }

  DimsView sizes() const;
  DimsView strides() const;
  int64_t dim() const;
  int64_t size(int64_t d) const;  // negative d counts from the end; throws index error
  int64_t stride(int64_t d) const;
  int64_t numel() const;
  int64_t offset() const;  // in elements, from the storage's start
  Dtype dtype() const;
  Device device() const;
  size_t element_size() const;
  const Ref<Storage>& storage() const;
  Writes& writes() const;
  uint32_t version() const { return writes().version(); }
  bool is_contiguous() const;
  bool is_wrapped_number() const;  // a bare number: takes part in promotion by category only
  void* data() const;              // of the first element
  template <class T> T* data_as() const { return static_cast<T*>(data()); }
  size_t nbytes() const;
  const Tensor& base() const;  // of a view, the tensor it was first taken from; else undefined

 private:
  Ref<TensorImpl> impl_;
};

using Tensors = SmallVector<Tensor, 3>;  // gradients of an op's operands; undefined: none
using TensorsView = std::span<const Tensor>;

// Where a view was made that may not be written to once gradients are recorded: what the write
// would do to the base's history is not known.
enum class Creation : uint8_t { normal, no_grad, inference, one_of_several };

// Of the layer that keeps names of tensors by their addresses.
extern void (*tensor_gone)(const TensorImpl*);

class TensorImpl final : public RefCounted, public Pooled {
 public:
  TensorImpl(Ref<Storage> storage, int64_t offset, DimsView sizes, DimsView strides, Dtype dtype);

  Dims sizes, strides;
  Ref<Storage> storage;
  Ref<OwnWrites> own_writes;  // null: the storage's
  int64_t offset, numel;
  Tensor base;
  std::unique_ptr<AutogradData, AutogradDeleter> autograd;  // null: plain data
  Dtype dtype;
  bool contiguous, wrapped_number = false, inference = false;
  bool named = false;                    // `tensor_gone` is told of its end
  Creation creation = Creation::normal;  // of a view
  uint32_t viewed_at = 0;                // the version when the view was made

  void set_geometry(int64_t new_offset, DimsView new_sizes, DimsView new_strides);
  // Takes over another tensor's data, dtype and geometry: how `.data = x` and module moves keep
  // identity. Its writes are counted on from where they were.
  void take_data(const Tensor& t);

 private:
  ~TensorImpl() override {
    if (named) tensor_gone(this);
  }
};

// ---- construction
// ----------------------------------------------------------------------------------------

Dims contiguous_strides(DimsView sizes);
int64_t numel_of(DimsView sizes);  // throws where a size is negative or the product overflows
// Elements from the first to the last that sizes and strides reach, 0 where there are none; throws
// where no memory is that large.
int64_t span_of(DimsView sizes, DimsView strides);
Tensor empty(DimsView sizes, Dtype dtype, Device device);
Tensor empty_strided(DimsView sizes, DimsView strides, Dtype dtype, Device device);
Tensor empty_pinned(DimsView sizes, DimsView strides, Dtype dtype);
// The first tensor of a storage, from its start.
Tensor tensor_of(Ref<Storage> storage, DimsView sizes, DimsView strides, Dtype dtype);
// Strides of a dense tensor in t's order of dimensions, whatever t's gaps.
Dims dense_strides(const Tensor& t);
// The same for a result that the operands broadcast to: for each two dimensions the first operand
// decides whose steps differ there, as in torch; C order where none does.
Dims dense_strides(std::span<const Tensor* const> operands, DimsView sizes);
Tensor empty_like(const Tensor& t);  // dense: keeps a non-overlapping dense layout, as torch does
Tensor wrapped_number(double v);
Tensor wrapped_number(int64_t v);
Tensor wrapped_number(bool v);
Tensor wrapped_complex(double real, double imag);
// A tensor over the same storage. Autograd does not see it: ops/view.cc makes the differentiable
// ones.
Tensor alias(const Tensor& t, DimsView sizes, DimsView strides, int64_t offset);
inline Tensor alias(const Tensor& t) { return alias(t, t.sizes(), t.strides(), t.offset()); }

// ---- shapes
// ----------------------------------------------------------------------------------------------

int64_t wrap_dim(int64_t d, int64_t ndim);      // throws index error
Dims broadcast_shapes(DimsView a, DimsView b);  // throws shape error
bool broadcasts_to(DimsView from, DimsView to);
// Strides of t as if expanded to `sizes` (0 where it repeats).
Dims expanded_strides(const Tensor& t, DimsView sizes);
std::string to_string(DimsView sizes);  // "[2, 3]"
std::string describe(const Tensor& t);  // "f32[2, 3] on cuda:0", as error texts write it
// The same as parts of a message, made only where it is: check() takes tensors and ShapeText.
std::ostream& operator<<(std::ostream& out, const Tensor& t);
struct ShapeText {
  DimsView sizes;
};
std::ostream& operator<<(std::ostream& out, ShapeText s);

// torch's result type of operands: dimensioned tensors before 0-d ones before wrapped numbers.
Dtype result_type(std::span<const Tensor* const> operands);

// ---- inline
// ----------------------------------------------------------------------------------------------

inline DimsView Tensor::sizes() const { return impl_->sizes; }
inline DimsView Tensor::strides() const { return impl_->strides; }
inline int64_t Tensor::dim() const { return int64_t(impl_->sizes.size()); }
inline int64_t Tensor::numel() const { return impl_->numel; }
inline int64_t Tensor::offset() const { return impl_->offset; }
inline Dtype Tensor::dtype() const { return impl_->dtype; }
inline Device Tensor::device() const { return impl_->storage->device(); }
inline size_t Tensor::element_size() const { return size_of(impl_->dtype); }
inline const Ref<Storage>& Tensor::storage() const { return impl_->storage; }
inline Writes& Tensor::writes() const {
  return impl_->own_writes ? impl_->own_writes->writes : impl_->storage->writes();
}
inline bool Tensor::is_contiguous() const { return impl_->contiguous; }
inline bool Tensor::is_wrapped_number() const { return impl_->wrapped_number; }
inline void* Tensor::data() const {
  return static_cast<char*>(impl_->storage->data()) + size_t(impl_->offset) * element_size();
}
inline size_t Tensor::nbytes() const { return size_t(numel()) * element_size(); }
inline const Tensor& Tensor::base() const { return impl_->base; }

}  // namespace flambeau
