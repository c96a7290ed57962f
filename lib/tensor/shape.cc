// Shape arithmetic: dimension wrapping, broadcasting, type promotion, and how error texts show a
// tensor.
#include "base/error.h"
#include "tensor/defaults.h"
#include "tensor/tensor.h"

namespace flambeau {

int64_t wrap_dim(int64_t d, int64_t ndim) {
  const int64_t n = ndim == 0 ? 1 : ndim;  // torch: a 0-d tensor has dimensions -1 and 0
  check(d >= -n && d < n, Code::index, "Dimension out of range (expected to be in range of [", -n,
        ", ", n - 1, "], but got ", d, ")");
  return d < 0 ? d + n : d;
}

Dims broadcast_shapes(DimsView a, DimsView b) {
  const bool swapped = a.size() < b.size();
  if (swapped) std::swap(a, b);
  Dims out(a);
  const size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& o = out[shift + i];
    if (o == 1) {
      o = b[i];
    } else {
      check(b[i] == o || b[i] == 1, Code::shape, "The size of tensor a (", swapped ? b[i] : o,
            ") must match the size of tensor b (", swapped ? o : b[i],
            ") at non-singleton dimension ", shift + i, ": shapes ", ShapeText{swapped ? b : a},
            " and ", ShapeText{swapped ? a : b}, " do not broadcast");
    }
  }
  return out;
}

bool broadcasts_to(DimsView from, DimsView to) {
  if (from.size() > to.size()) return false;
  const size_t shift = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[shift + i] && from[i] != 1) return false;
  }
  return true;
}

Dims expanded_strides(const Tensor& t, DimsView sizes) {
  Dims out(sizes.size(), 0);
  const size_t shift = sizes.size() - t.sizes().size();
  for (size_t i = 0; i < t.sizes().size(); ++i) {
    if (t.sizes()[i] != 1) out[shift + i] = t.strides()[i];
  }
  return out;
}

std::string to_string(DimsView sizes) {
  std::string s = "[";
  for (size_t i = 0; i < sizes.size(); ++i) s += (i ? ", " : "") + std::to_string(sizes[i]);
  return s + "]";
}

std::string describe(const Tensor& t) {
  if (!t.defined()) return "none";
  return cat_text(short_name(t.dtype()), to_string(t.sizes()), " on ", to_string(t.device()));
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << describe(t); }
std::ostream& operator<<(std::ostream& out, ShapeText s) { return out << to_string(s.sizes); }

Defaults& defaults() {
  static constinit Defaults d;
  return d;
}

Dtype result_type(std::span<const Tensor* const> operands) {
  // Three ranks; a lower rank counts only where its category is higher than all above it.
  Dtype rank[3] = {Dtype::none, Dtype::none, Dtype::none};
  for (const Tensor* t : operands) {
    if (!t->defined()) continue;
    const int r = t->is_wrapped_number() ? 2 : t->dim() == 0 ? 1 : 0;
    Dtype d = t->dtype();
    if (r == 2 && d == Dtype::f64) d = defaults().dtype;
    if (r == 2 && d == Dtype::c128) d = promote(Dtype::c64, defaults().dtype);
    rank[r] = promote(rank[r], d);
  }
  Dtype result = rank[0];
  for (Dtype d : {rank[1], rank[2]}) {
    if (d == Dtype::none) continue;
    if (result == Dtype::none || category_of(d) > category_of(result))
      result = is_complex(d) && is_floating(result) ? promote(result, Dtype::c64) : d;
  }
  return result;
}

}  // namespace flambeau
