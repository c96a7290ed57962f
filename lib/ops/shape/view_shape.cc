// Views derived from the basic ones, views with a geometry of their own (windows, diagonals), and
// the forms that change a tensor's geometry in place.
#include "base/error.h"
#include "ops/shape/view.h"

namespace flambeau::ops {

namespace {

struct DiagonalBackward : PartBackward {
  static constexpr auto name = "DiagonalBackward0";
};
struct UnfoldBackward : AsStridedBackward {
  static constexpr auto name = "UnfoldBackward0";
};

// x takes over the geometry and the history of v, a view of itself.
Tensor adopt_view(const char* op, const Tensor& x, const Tensor& v) {
  check_recorded(x, op, Destination::inplace);
  const Ref<Node> node = grad_fn(v);  // before the write below makes a view's history stale
  x.impl()->set_geometry(v.offset(), v.sizes(), v.strides());
  x.writes().add(op, "_");
  if (node) {
    AutogradData& d = autograd_data(x);
    d.move_to(node, autograd_data(v).output_nr);
    d.fresh_at = x.version();
  }
  return x;
}

}  // namespace

Tensor unflatten(const Tensor& x, int64_t dim, DimsView sizes) {
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  check(!sizes.empty(), Code::shape, "unflatten: sizes must be non-empty");
  int64_t known = 1;
  bool infers = false;
  for (int64_t s : sizes) {
    if (s == -1) {
      infers = true;
    } else {
      known *= s;
    }
  }
  const int64_t n = x.size(dim);
  check(infers ? known != 0 && n % known == 0 : known == n, Code::shape,
        "unflatten: Provided sizes ", ShapeText{sizes}, " don't multiply up to the size of dim ",
        dim, " (", n, ") in the input tensor");
  Dims shape(x.sizes().first(d));
  for (int64_t s : sizes) shape.push_back(s == -1 ? n / known : s);
  for (size_t i = d + 1; i < x.sizes().size(); ++i) shape.push_back(x.sizes()[i]);
  return view(x, shape);
}

Tensor unfold_dim(const Tensor& x, int64_t dimension, int64_t size, int64_t step) {
  const size_t d = size_t(wrap_dim(dimension, x.dim()));
  const int64_t n = x.dim() ? x.sizes()[d] : 1;
  check(size >= 0, Code::invalid_argument, "size is ", size, " but must be >= 0");
  check(size <= n, Code::invalid_argument, "maximum size for tensor at dimension ", dimension,
        " is ", n, " but size is ", size);
  check(step > 0, Code::invalid_argument, "step is ", step, " but must be > 0");
  Dims sizes(x.sizes()), strides(x.strides()), dense = contiguous_strides(x.sizes());
  const int64_t last = x.dim() ? strides[d] : 1, dense_last = x.dim() ? dense[d] : 1;
  if (x.dim()) {
    sizes[d] = (n - size) / step + 1;
    strides[d] *= step;
    dense[d] *= step;
  }
  sizes.push_back(size);
  strides.push_back(last);
  dense.push_back(dense_last);
  return make_view(
      op::unfold_dim, x, sizes, strides, x.offset(),
      UnfoldBackward{{Dims(x.sizes()), contiguous_strides(x.sizes()), sizes, dense, 0}});
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const size_t a = size_t(wrap_dim(dim1, x.dim())), b = size_t(wrap_dim(dim2, x.dim()));
  check(a != b, Code::invalid_argument, "diagonal dimensions cannot be identical ", dim1, ", ",
        dim2);
  const int64_t rows = x.sizes()[a], columns = x.sizes()[b];
  const int64_t size = std::max<int64_t>(
      offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns), 0);
  const Dims dense = contiguous_strides(x.sizes());
  Dims sizes, strides, dense_view;
  for (size_t i = 0; i < x.sizes().size(); ++i) {
    if (i == a || i == b) continue;
    sizes.push_back(x.sizes()[i]);
    strides.push_back(x.strides()[i]);
    dense_view.push_back(dense[i]);
  }
  sizes.push_back(size);
  strides.push_back(x.strides()[a] + x.strides()[b]);
  dense_view.push_back(dense[a] + dense[b]);
  auto skipped = [&](DimsView s) {
    return size == 0 ? 0 : offset >= 0 ? offset * s[b] : -offset * s[a];
  };
  return make_view(op::diagonal, x, sizes, strides, x.offset() + skipped(x.strides()),
                   DiagonalBackward{{Dims(x.sizes()), sizes, dense_view, skipped(dense)}});
}

Tensor movedim(const Tensor& x, DimsView source, DimsView destination) {
  check(source.size() == destination.size(), Code::shape,
        "movedim: Invalid source or destination dims: "
        "source (",
        ShapeText{source}, " dims) should contain the same number of dims as destination (",
        ShapeText{destination}, " dims)");
  const size_t n = x.sizes().size();
  Dims order(n, -1);
  SmallVector<bool, 8> moved(n, false);
  for (size_t i = 0; i < source.size(); ++i) {
    const size_t from = size_t(wrap_dim(source[i], x.dim())),
                 to = size_t(wrap_dim(destination[i], x.dim()));
    if (n == 0) return x;
    check(!moved[from], Code::shape, "movedim: repeated dim in `source` (", ShapeText{source}, ")");
    check(order[to] == -1, Code::shape, "movedim: repeated dim in `destination` (",
          ShapeText{destination}, ")");
    moved[from] = true;
    order[to] = int64_t(from);
  }
  size_t next = 0;
  for (int64_t& o : order) {
    if (o != -1) continue;
    while (moved[next]) ++next;
    o = int64_t(next++);
  }
  return permute(x, order);
}

Tensor view_as(const Tensor& x, const Tensor& other) { return view(x, other.sizes()); }
Tensor reshape_as(const Tensor& x, const Tensor& other) { return reshape(x, other.sizes()); }
Tensor expand_as(const Tensor& x, const Tensor& other) { return expand(x, other.sizes()); }
Tensor broadcast_to(const Tensor& x, DimsView size) { return expand(x, size); }
Tensor ravel(const Tensor& x) { return reshape(contiguous(x), Dims{-1}); }

Tensor atleast_1d(const Tensor& x) { return x.dim() ? x : reshape(x, Dims{1}); }

Tensor atleast_2d(const Tensor& x) {
  if (x.dim() == 0) return reshape(x, Dims{1, 1});
  return x.dim() == 1 ? unsqueeze(x, 0) : x;
}

Tensor atleast_3d(const Tensor& x) {
  if (x.dim() == 0) return reshape(x, Dims{1, 1, 1});
  if (x.dim() == 1) return unsqueeze(unsqueeze(x, 0), -1);
  return x.dim() == 2 ? unsqueeze(x, -1) : x;
}

Tensor squeeze_(const Tensor& x, DimsView dim) {
  return adopt_view(op::squeeze, x, squeeze(x, dim));
}
Tensor unsqueeze_(const Tensor& x, int64_t dim) {
  return adopt_view(op::unsqueeze, x, unsqueeze(x, dim));
}
Tensor transpose_(const Tensor& x, int64_t dim0, int64_t dim1) {
  return adopt_view(op::transpose, x, transpose(x, dim0, dim1));
}
Tensor t_(const Tensor& x) { return adopt_view(op::t, x, t(x)); }
Tensor as_strided_(const Tensor& x, DimsView sizes, DimsView strides,
                   std::optional<int64_t> storage_offset) {
  return adopt_view(op::as_strided, x, as_strided(x, sizes, strides, storage_offset));
}

}  // namespace flambeau::ops
