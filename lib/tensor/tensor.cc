// Construction and geometry of tensors.
#include "tensor/tensor.h"

#include <array>
#include <cstring>

#include "base/checked.h"
#include "device/front.h"
#include "device/label.h"
#include "tensor/defaults.h"

namespace flambeau {

void (*tensor_gone)(const TensorImpl*) = nullptr;

TensorImpl::TensorImpl(Ref<Storage> s, int64_t o, DimsView sz, DimsView st, Dtype d)
    : storage(std::move(s)), dtype(d) {
  set_geometry(o, sz, st);
}

void TensorImpl::set_geometry(int64_t new_offset, DimsView new_sizes, DimsView new_strides) {
  sizes = Dims(new_sizes);
  strides = Dims(new_strides);
  offset = new_offset;
  numel = numel_of(sizes);
  contiguous = true;
  int64_t expected = 1;
  for (size_t i = sizes.size(); numel > 0 && contiguous && i-- > 0;) {
    if (sizes[i] == 1) continue;
    contiguous = strides[i] == expected;
    expected *= sizes[i];
  }
}

void TensorImpl::take_data(const Tensor& t) {
  if (!own_writes && storage.get() != t.storage().get())
    own_writes = make_ref<OwnWrites>(storage->writes());
  storage = t.storage();
  dtype = t.dtype();
  set_geometry(t.offset(), t.sizes(), t.strides());
}

int64_t Tensor::size(int64_t d) const { return sizes()[size_t(wrap_dim(d, dim()))]; }
int64_t Tensor::stride(int64_t d) const { return strides()[size_t(wrap_dim(d, dim()))]; }

Dims contiguous_strides(DimsView sizes) {
  Dims strides(sizes.size());
  uint64_t step = 1;  // may wrap at the outermost size where another is 0
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = int64_t(step);
    step *= uint64_t(std::max<int64_t>(sizes[i], 1));
  }
  return strides;
}

// Of no elements, so that their number says nothing of the steps between them.
static void check_strides(DimsView sizes) {
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 1;) {
    check(!__builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step), Code::shape,
          "Stride calculation overflowed with sizes=", ShapeText{sizes});
  }
}

int64_t numel_of(DimsView sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) {
    check(s >= 0, Code::shape, "negative dimension ", s, " in shape ", ShapeText{sizes});
    check(!__builtin_mul_overflow(n, s, &n) && n < kMostElements, Code::shape,
          "Storage size calculation overflowed with sizes=", ShapeText{sizes});
  }
  if (n == 0) check_strides(sizes);
  return n;
}

int64_t span_of(DimsView sizes, DimsView strides) {
  if (numel_of(sizes) == 0) return 0;
  int64_t span = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach;
    check(!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
              !__builtin_add_overflow(span, reach, &span) && span < kMostElements,
          Code::shape, "Storage size calculation overflowed with sizes=", ShapeText{sizes},
          " and strides=", ShapeText{strides});
  }
  return span;
}

static Ref<Storage> new_storage(DimsView sizes, Dtype dtype, Device device, size_t bytes) {
  if (!g_fronts_off.load(std::memory_order_relaxed)) [[likely]]
    return make_ref<Storage>(resolve(device), bytes);
  const ShapeLabel shape(intern(cat_text(short_name(dtype), ShapeText{sizes})));
  return make_ref<Storage>(resolve(device), bytes);
}

// Inlined, because every op makes a tensor.
[[gnu::always_inline]] inline Tensor made_of(Ref<Storage> storage, DimsView sizes, DimsView strides,
                                             Dtype dtype) {
  auto t = make_ref<TensorImpl>(std::move(storage), 0, sizes, strides, dtype);
  t->inference = makes_inference_tensors();
  return Tensor(std::move(t));
}

Tensor tensor_of(Ref<Storage> storage, DimsView sizes, DimsView strides, Dtype dtype) {
  return made_of(std::move(storage), sizes, strides, dtype);
}

Tensor empty(DimsView sizes, Dtype dtype, Device device) {
  const int64_t n = numel_of(sizes);
  auto storage = new_storage(sizes, dtype, device, size_t(n) * size_of(dtype));
  return made_of(std::move(storage), sizes, contiguous_strides(sizes), dtype);
}

Tensor empty_strided(DimsView sizes, DimsView strides, Dtype dtype, Device device) {
  const size_t bytes = size_t(span_of(sizes, strides)) * size_of(dtype);
  return tensor_of(new_storage(sizes, dtype, device, bytes), sizes, strides, dtype);
}

Tensor empty_pinned(DimsView sizes, DimsView strides, Dtype dtype) {
  const size_t bytes = size_t(span_of(sizes, strides)) * size_of(dtype);
  return tensor_of(make_ref<Storage>(Storage::Pinned{}, bytes), sizes, strides, dtype);
}

// How far apart neighbours along `dim` of a result are in an operand that broadcasts to it.
static int64_t step_along(const Tensor& t, size_t dim, DimsView sizes) {
  const size_t missing = sizes.size() - size_t(t.dim());
  if (dim < missing) return 0;
  const bool repeats = t.sizes()[dim - missing] == 1 && sizes[dim] != 1;
  return repeats ? 0 : t.strides()[dim - missing];
}

Dims dense_strides(std::span<const Tensor* const> operands, DimsView sizes) {
  // Positive where `inner` has the larger steps; 0 where no operand decides.
  const auto compare = [&](size_t inner, size_t outer) {
    for (const Tensor* t : operands) {
      const int64_t a = step_along(*t, inner, sizes), b = step_along(*t, outer, sizes);
      if (a == 0 || b == 0) continue;
      if (a != b) return a < b ? -1 : 1;
      if (sizes[inner] > sizes[outer]) return 1;
    }
    return 0;
  };
  SmallVector<size_t, 8> order;  // innermost first
  for (size_t i = sizes.size(); i-- > 0;) order.push_back(i);
  for (size_t i = 1; i < order.size(); ++i) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      const int found = compare(order[j], order[at]);
      if (found < 0) break;
      if (found == 0) continue;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t dim : order) {
    strides[dim] = step;
    step *= std::max<int64_t>(sizes[dim], 1);
  }
  return strides;
}

Dims dense_strides(const Tensor& t) {
  if (t.is_contiguous()) return Dims(t.strides());  // those of dimensions of 1, too
  const Tensor* one[] = {&t};
  return dense_strides(one, t.sizes());
}

Tensor empty_like(const Tensor& t) {
  return empty_strided(t.sizes(), dense_strides(t), t.dtype(), t.device());
}

template <class T> static Tensor wrapped(T v, Dtype dtype = dtype_of<T>) {
  Tensor t = empty({}, dtype, kCpu);
  std::memcpy(t.data(), &v, sizeof v);
  t.impl()->wrapped_number = true;
  t.impl()->inference = false;  // numbers are kept, and used in any mode
  return t;
}
Tensor wrapped_number(double v) { return wrapped(v); }
Tensor wrapped_number(int64_t v) { return wrapped(v); }
Tensor wrapped_number(bool v) { return wrapped(v); }
Tensor wrapped_complex(double real, double imag) {
  return wrapped(std::array{real, imag}, Dtype::c128);
}

Tensor alias(const Tensor& t, DimsView sizes, DimsView strides, int64_t offset) {
  Tensor a(make_ref<TensorImpl>(t.storage(), offset, sizes, strides, t.dtype()));
  a.impl()->inference = t.impl()->inference;
  a.impl()->own_writes = t.impl()->own_writes;
  return a;
}

}  // namespace flambeau
