// Products of vectors and matrices that other products make up.
#include <algorithm>

#include "base/error.h"
#include "ops/call.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

void check_dim(const char* op, const char* name, const Tensor& x, int64_t dim) {
  check(x.dim() == dim, Code::shape, op, ": ", name, " must be a ", dim, "D tensor, got ", x);
}

// A factor that leaves the dtype of integers alone where it is whole.
Tensor scaled(const Tensor& x, double factor) {
  if (factor == 1) return x;
  return factor == double(int64_t(factor)) ? mul(x, num(int64_t(factor))) : mul(x, num(factor));
}

Tensor with_dims(const Tensor& x, size_t dims) {
  Dims shape(x.sizes());
  while (shape.size() < dims) shape.insert(0, 1);
  return reshape(x, shape);
}

}  // namespace

Tensor addmv(const Tensor& x, const Tensor& mat, const Tensor& vec, double beta, double alpha,
             Into into) {
  check_dim(op::addmv, "mat", mat, 2);
  check_dim(op::addmv, "vec", vec, 1);
  check(mat.size(1) == vec.size(0), Code::shape, "size mismatch, got input (", mat.size(0),
        "), mat (", mat.size(0), "x", mat.size(1), "), vec (", vec.size(0), ")");
  Call c{op::addmv.to(into), {x, mat, vec}};
  const Tensor column = unsqueeze(expand(c[0], Dims{mat.size(0)}), 1);
  return squeeze(addmm(column, c[1], unsqueeze(c[2], 1), beta, alpha), Dims{1});
}

Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, double beta, double alpha,
            Into into) {
  check_dim(op::addr, "vec1", a, 1);
  check_dim(op::addr, "vec2", b, 1);
  Call c{op::addr.to(into), {x, a, b}};
  check_factor("beta", beta, c.promoted());
  check_factor("alpha", alpha, c.promoted());
  const auto is_bool = [](const Tensor& t) { return t.dtype() == Dtype::boolean; };
  if (is_bool(c[0]) && is_bool(c[1]) && is_bool(c[2])) {  // truths stay truths
    const Tensor both = logical_and(unsqueeze(c[1], 1), c[2]);
    const Tensor product = alpha != 0 ? both : zeros_as(both);
    return beta != 0 ? logical_or(c[0], product) : expand(product, product.sizes());
  }
  const Tensor product = scaled(outer(c[1], c[2]), alpha);
  const Tensor base = expand(c[0], product.sizes());
  const Tensor* both[] = {&base, &product};
  const Dtype dtype = result_type(both);
  return beta == 0 ? to_dtype(product, dtype) : add(scaled(base, beta), product);
}

Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b, double beta, double alpha,
              Into into) {
  check_dim(op::addbmm, "batch1", a, 3);
  check_dim(op::addbmm, "batch2", b, 3);
  check(a.size(0) == b.size(0) && a.size(2) == b.size(1), Code::shape,
        "addbmm: batch1 and batch2 must have same number of batches and fitting matrices, got ", a,
        " and ", b);
  Call c{op::addbmm.to(into), {x, a, b}};
  const int64_t inner = a.size(0) * a.size(2);
  const Tensor left = reshape(permute(c[1], Dims{1, 0, 2}), Dims{a.size(1), inner});
  return addmm(c[0], left, reshape(c[2], Dims{inner, b.size(2)}), beta, alpha);
}

Tensor inner(const Tensor& a, const Tensor& b, Into into) {
  const Call c{op::inner.to(into), {a, b}};
  if (a.dim() == 0 || b.dim() == 0) return mul(a, b);
  check(a.size(-1) == b.size(-1), Code::shape,
        "inner() the last dimension must match on both input tensors but got shapes ",
        ShapeText{a.sizes()}, " and ", ShapeText{b.sizes()});
  return tensordot(a, b, Dims{-1}, Dims{-1});
}

Tensor vdot(const Tensor& a, const Tensor& b, Into into) {
  const Call c{op::vdot.to(into), {a, b}};
  return dot(conj_physical(c[0]), c[1]);
}

Tensor kron(const Tensor& a, const Tensor& b, Into into) {
  const Call c{op::kron.to(into), {a, b}};
  const size_t dims = size_t(std::max(a.dim(), b.dim()));
  const Tensor x = with_dims(a, dims), y = with_dims(b, dims);
  Dims left, right, shape;
  for (size_t d = 0; d < dims; ++d) {
    left.push_back(x.sizes()[d]);
    left.push_back(1);
    right.push_back(1);
    right.push_back(y.sizes()[d]);
    shape.push_back(x.sizes()[d] * y.sizes()[d]);
  }
  return reshape(mul(reshape(x, left), reshape(y, right)), shape);
}

// The component i is a[i+1] b[i+2] - a[i+2] b[i+1].
Tensor cross(const Tensor& a, const Tensor& b, std::optional<int64_t> dim, Into into) {
  const Call c{op::cross.to(into), {a, b}};
  check(a.dim() == b.dim(), Code::shape,
        "linalg.cross: inputs must have the same number of dimensions.");
  int64_t d = 0;
  if (dim) {
    d = wrap_dim(*dim, a.dim());
  } else {
    while (d < a.dim() && a.size(d) != 3) ++d;
    check(d < a.dim(), Code::shape, "no dimension of size 3 in input");
  }
  check(a.dim() > 0 && a.size(d) == 3 && b.size(d) == 3, Code::shape,
        "linalg.cross: inputs "
        "dimension ",
        d, " must have length 3. Got ", a, " and ", b);
  const Dims shape = broadcast_shapes(a.sizes(), b.sizes());
  const Tensor x = expand(c[0], shape), y = expand(c[1], shape);
  const Dims once{-1}, twice{-2}, along{d};
  return sub(mul(roll(x, once, along), roll(y, twice, along)),
             mul(roll(x, twice, along), roll(y, once, along)));
}

Tensor vander(const Tensor& x, std::optional<int64_t> columns, bool increasing) {
  check(x.dim() == 1, Code::shape, "x must be a one-dimensional tensor.", " vander got ", x);
  const int64_t n = columns.value_or(x.size(0));
  check(n >= 0, Code::invalid_argument, "N must be non-negative.");
  const Call c{op::vander, {x}};
  const Dtype dtype = is_floating(x.dtype()) ? x.dtype() : Dtype::i64;
  const Tensor parts[] = {
      ones(Dims{x.size(0), std::min<int64_t>(n, 1)}, dtype, x.device()),
      expand(unsqueeze(to_dtype(x, dtype), 1), Dims{x.size(0), std::max<int64_t>(n - 1, 0)})};
  const Tensor powers = cumprod(cat(parts, 1), 1);
  return increasing ? powers : flip(powers, Dims{1});
}

}  // namespace flambeau::ops
