// See joined.h. Steps along dimensions of one element say nothing: that along `d` is how far the
// parts' places are apart.
#include "tensor/joined.h"

#include "tensor/order.h"

namespace flambeau {

namespace {

// Whether the part has the sizes and steps of the whole, but for its size along d.
bool is_like(const Tensor& part, DimsView sizes, DimsView strides, size_t d) {
  if (part.sizes().size() != sizes.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i != d && part.sizes()[i] != sizes[i]) return false;
    if (part.sizes()[i] != 1 && part.strides()[i] != strides[i]) return false;
  }
  return true;
}

}  // namespace

Tensor joined_in_place(TensorsView parts, size_t d) {
  if (parts.size() < 2) return {};
  for (const Tensor& p : parts)
    if (!p || p.numel() == 0) return {};
  const Tensor& first = parts[0];
  Dims sizes(first.sizes()), strides(first.strides());
  const int64_t apart = parts[1].offset() - first.offset();
  if (d >= sizes.size() || apart % sizes[d] != 0) return {};
  strides[d] = apart / sizes[d];
  int64_t end = first.offset();
  sizes[d] = 0;
  for (const Tensor& p : parts) {
    if (p.storage() != first.storage() || p.dtype() != first.dtype() || p.offset() != end)
      return {};
    if (!is_like(p, sizes, strides, d)) return {};
    sizes[d] += p.sizes()[d];
    end += p.sizes()[d] * strides[d];
  }
  const Tensor whole = alias(first, sizes, strides, first.offset());
  return is_dense(whole) ? whole : Tensor();
}

}  // namespace flambeau
