// Diagonals of matrices: taken, embedded, summed; and where the triangles beside them are.
#include "base/error.h"
#include "ops/call.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

struct DiagEmbedBackward {
  int64_t offset, dim1, dim2;
  static constexpr auto name = "DiagEmbedBackward0";
  Tensors operator()(const Tensor& dy) const { return {diagonal(dy, offset, dim1, dim2)}; }
};

Tensor triangle(const Op& op, int64_t rows, int64_t columns, int64_t offset, Dtype dtype,
                Device device, bool lower) {
  check(rows >= 0 && columns >= 0, Code::invalid_argument, op,
        ": row and col must be non-negative, got ", rows, " and ", columns);
  check(dtype == Dtype::i64 || dtype == Dtype::i32, Code::dtype, op,
        ": dtype must be int64 or int32, got ", name_of(dtype));
  const GradMode off(false);
  auto count = [&](int64_t n) {
    return arange(num(int64_t{0}), num(n), num(int64_t{1}), Dtype::i64, device);
  };
  const Tensor distance = sub(count(columns), unsqueeze(count(rows), 1));
  const Tensor inside = lower ? le(distance, num(offset)) : ge(distance, num(offset));
  return to_dtype(contiguous(transpose(nonzero(inside), 0, 1)), dtype);
}

}  // namespace

Tensor trace(const Tensor& x) {
  check(x.dim() == 2, Code::shape, "trace: expected a matrix, but got tensor with dim ", x.dim());
  Call c{op::trace, {x}};
  return sum(diagonal(c[0]));
}

Tensor diag(const Tensor& x, int64_t offset, Into) {
  check(x.dim() == 1 || x.dim() == 2, Code::shape, "diag(): Supports 1D or 2D tensors. Got ",
        x.dim(), "D");
  return x.dim() == 1 ? diag_embed(x, offset) : clone(diagonal(x, offset));
}

Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  check(x.dim() > 0, Code::shape, "diag_embed(): input must have at least 1 dimension, got ", x);
  const int64_t first = wrap_dim(dim1, x.dim() + 1), second = wrap_dim(dim2, x.dim() + 1);
  check(first != second, Code::invalid_argument, "diagonal dimensions cannot be identical ", dim1,
        ", ", dim2);
  const int64_t n = x.size(-1) + std::abs(offset);
  Dims shape(x.sizes());
  shape.pop_back();
  shape.insert(size_t(std::min(first, second)), n);
  shape.insert(size_t(std::max(first, second)), n);
  Call c{op::diag_embed, {x}};
  Tensor y = zeros(shape, x.dtype(), c.device());
  {
    const GradMode off(false);
    copy_(diagonal(y, offset, first, second), x);
  }
  return c.track(alias(y), DiagEmbedBackward{offset, first, second});
}

Tensor diagflat(const Tensor& x, int64_t offset) { return diag_embed(ravel(x), offset); }

Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, Dtype dtype, Device device) {
  return triangle(op::tril_indices, rows, columns, offset, dtype, device_or_default(device), true);
}
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, Dtype dtype, Device device) {
  return triangle(op::triu_indices, rows, columns, offset, dtype, device_or_default(device), false);
}

}  // namespace flambeau::ops
