// See parts.h.
#include "tensor/parts.h"

#include "base/error.h"

namespace flambeau {

RealLayout real_layout(const Tensor& t) {
  RealLayout l{Dims(t.sizes()), Dims(t.strides()), t.offset()};
  if (!is_complex(t.dtype())) return l;
  for (int64_t& s : l.strides) s *= 2;
  l.sizes.push_back(2);
  l.strides.push_back(1);
  l.offset *= 2;
  return l;
}

Tensor alias_as(const Tensor& t, Dtype dtype, DimsView sizes, DimsView strides, int64_t offset) {
  Tensor a(make_ref<TensorImpl>(t.storage(), offset, sizes, strides, dtype));
  a.impl()->inference = t.impl()->inference;
  a.impl()->own_writes = t.impl()->own_writes;
  return a;
}

Tensor pairs_of(const Tensor& complex) {
  const RealLayout l = real_layout(complex);
  return alias_as(complex, to_real(complex.dtype()), l.sizes, l.strides, l.offset);
}

Tensor part_of(const Tensor& complex, int part) {
  RealLayout l = real_layout(complex);
  l.sizes.pop_back();
  l.strides.pop_back();
  return alias_as(complex, to_real(complex.dtype()), l.sizes, l.strides, l.offset + part);
}

Tensor complex_of(const Tensor& pairs) {
  const auto need = [&](bool holds, const char* what) {
    check(holds, Code::shape, "Tensor must have ", what, ": view_as_complex got ", pairs,
          " with strides ", to_string(pairs.strides()), "; x.contiguous() may have them");
  };
  need(pairs.dim() > 0 && pairs.sizes().back() == 2, "a last dimension of size 2");
  need(pairs.strides().back() == 1, "a last dimension with stride 1");
  Dims sizes(pairs.sizes()), strides(pairs.strides());
  sizes.pop_back();
  strides.pop_back();
  for (size_t i = 0; i < sizes.size(); ++i) {
    need(sizes[i] <= 1 || strides[i] % 2 == 0,
         "a stride divisible by 2 for all but last dimension");
    strides[i] /= 2;
  }
  need(pairs.offset() % 2 == 0, "a storage_offset divisible by 2");
  return alias_as(pairs, to_complex(pairs.dtype()), sizes, strides, pairs.offset() / 2);
}

}  // namespace flambeau
