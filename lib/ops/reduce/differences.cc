// Differences and integrals of neighbours, made of ops.
#include "base/error.h"
#include "ops/call.h"
#include "ops/formula.h"
#include "ops/ops.h"

namespace flambeau::ops {

namespace {

Tensor next(const Tensor& x, int64_t dim) { return narrow(x, dim, 1, x.size(dim) - 1); }
Tensor before(const Tensor& x, int64_t dim) { return narrow(x, dim, 0, x.size(dim) - 1); }

void check_dims(const char* op, const char* who, const Tensor& part, const Tensor& x) {
  check(!part || part.dim() == x.dim(), Code::shape, op, " expects ", who,
        " to have the same number of dimensions as input: ", part ? part.dim() : 0, " and ",
        x.dim());
}

// Heights times widths of each interval; x undefined: all are dx wide.
Tensor areas(const Op& op, const Tensor& y, const Tensor& x, double dx, int64_t dim) {
  const Call c{op, {y, x}};
  check(y.dim() > 0, Code::shape, op, "(): y must have at least 1 dimension, got ", y);
  check(!x || dx == 1, Code::invalid_argument, op, "(): dx is for points at equal distances, and x",
        " says where they are: leave one of them out");
  const int64_t d = wrap_dim(dim, y.dim());
  if (y.size(d) == 0) return mul(y, num(0.5));
  const Tensor heights = add(next(y, d), before(y, d));
  if (!x) return mul(heights, num(dx / 2));
  Tensor places = x;
  if (x.dim() == 1) {
    check(x.size(0) == y.size(d), Code::shape, op,
          "(): There must be one `x` value for each sample ", "point: ", x.size(0), " and ",
          y.size(d));
    Dims shape(size_t(y.dim()), 1);
    shape[size_t(d)] = x.size(0);
    places = reshape(x, shape);
  } else {
    while (places.dim() < y.dim()) places = unsqueeze(places, 0);
    if (places.size(d) == 1) places = expand(places, y.sizes());
  }
  return mul(mul(heights, sub(next(places, d), before(places, d))), num(0.5));
}

}  // namespace

Tensor diff(const Tensor& x, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append,
            Into) {
  check(x.dim() >= 1, Code::shape, "diff expects input to be at least one-dimensional");
  check(n >= 0, Code::invalid_argument, "order must be non-negative but got ", n);
  check_dims(op::diff, "prepend", prepend, x);
  check_dims(op::diff, "append", append, x);
  const int64_t d = wrap_dim(dim, x.dim());
  if (n == 0) return clone(x);
  std::vector<Tensor> parts;
  if (prepend) parts.push_back(prepend);
  parts.push_back(x);
  if (append) parts.push_back(append);
  Tensor y = parts.size() > 1 ? cat(parts, d) : x;
  n = std::min(n, y.size(d));
  for (int64_t i = 0; i < n; ++i) {
    if (y.size(d) == 0) break;
    y = y.dtype() == Dtype::boolean ? logical_xor(next(y, d), before(y, d))
                                    : sub(next(y, d), before(y, d));
  }
  return y.is_same(x) ? clone(y) : y;
}

Tensor trapezoid(const Tensor& y, const Tensor& x, double dx, int64_t dim) {
  return sum(areas(op::trapezoid, y, x, dx, dim), {&dim, 1});
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, double dx, int64_t dim) {
  return cumsum(areas(op::cumulative_trapezoid, y, x, dx, dim), dim);
}

}  // namespace flambeau::ops
