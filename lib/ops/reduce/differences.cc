// Differences and integrals of neighbours, made of ops.
#include "base/error.h"
#include "ops/call.h"
#include "ops/formula.h"
#include "ops/ops.h"

namespace flambeau::ops {

namespace {

Tensor next(const Tensor& x, int64_t dim) { return narrow(x, dim, 1, x.size(dim) - 1); }
Tensor before(const Tensor& x, int64_t dim) { return narrow(x, dim, 0, x.size(dim) - 1); }

void check_part(const char* who, const Tensor& part, const Tensor& x, int64_t along) {
  if (!part) return;
  check(part.dim() == x.dim(), Code::shape,
        "diff expects prepend or append to be the same dimension as input: ", who, " has ",
        part.dim(), " dimensions and input ", x.dim());
  for (int64_t d = 0; d < x.dim(); ++d) {
    check(d == along || part.size(d) == x.size(d), Code::shape,
          "diff expects the shape of tensor to prepend or append to match that of input except "
          "along the differencing dimension; input.size(",
          d, ") = ", x.size(d), ", but got tensor.size(", d, ") = ", part.size(d), ", in ", who);
  }
}

// Heights times widths of each interval; x undefined: all are dx wide.
Tensor areas(const Op& op, const Tensor& y, const Tensor& x, double dx, int64_t dim) {
  const Call c{op, {y, x}};
  check(y.dim() > 0, Code::shape, op, "(): y must have at least 1 dimension, got ", y);
  check(!x || dx == 1, Code::invalid_argument, op, "(): dx is for points at equal distances, and x",
        " says where they are: leave one of them out");
  const int64_t d = wrap_dim(dim, y.dim());
  if (y.size(d) == 0) return scaled(y, 0.5);
  const Tensor heights = add(next(y, d), before(y, d));
  if (!x) return scaled(heights, dx / 2);
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

// Neighbours along a dimension times factors: of what lies from `first` on, `length` of it.
Tensor weighted(const Tensor& x, int64_t dim, int64_t first, int64_t length,
                std::initializer_list<Tensor> factors) {
  Tensor y;
  for (const Tensor& factor : factors) {
    const Tensor part = mul(narrow(x, dim, first++, length), factor);
    y = y ? add(y, part) : part;
  }
  return y;
}

// Second-order differences inside, of `edge_order` at both ends; samples are `h` apart.
Tensor even_slope(const Tensor& x, int64_t dim, double h, int64_t edge_order) {
  const int64_t n = x.size(dim);
  const auto at = [&](int64_t first, int64_t length) { return narrow(x, dim, first, length); };
  std::vector<Tensor> parts;
  parts.push_back(edge_order == 1 ? sub(at(1, 1), at(0, 1))
                                  : weighted(x, dim, 0, 1, {num(-1.5), num(2.0), num(-0.5)}));
  if (n > 2) parts.push_back(div(sub(at(2, n - 2), at(0, n - 2)), num(2.0)));
  parts.push_back(edge_order == 1 ? sub(at(n - 1, 1), at(n - 2, 1))
                                  : weighted(x, dim, n - 3, 1, {num(0.5), num(-2.0), num(1.5)}));
  return div(cat(parts, dim), num(h));
}

// The same of samples at `places`. A parabola through three of them, `a` and `b` apart, has these
// slopes there.
Tensor uneven_slope(const Tensor& x, int64_t dim, const Tensor& places, int64_t edge_order) {
  const int64_t n = x.size(dim);
  Dims along(size_t(x.dim()), 1);
  along[size_t(dim)] = n - 1;
  const Tensor widths = reshape(diff(places), along);
  const auto width = [&](int64_t first, int64_t length) {
    return narrow(widths, dim, first, length);
  };
  const auto line = [&](int64_t first) {
    return div(sub(narrow(x, dim, first + 1, 1), narrow(x, dim, first, 1)), width(first, 1));
  };
  const auto twice = [](const Tensor& t) { return mul(t, num(int64_t{2})); };
  const auto over = [](const Tensor& t, const Tensor& p, const Tensor& q) {
    return div(t, mul(p, q));
  };
  std::vector<Tensor> parts;
  if (edge_order == 1) {
    parts.push_back(line(0));
  } else {
    const Tensor a = width(0, 1), b = width(1, 1), c = add(a, b);
    parts.push_back(weighted(
        x, dim, 0, 1, {neg(over(add(twice(a), b), a, c)), over(c, a, b), neg(over(a, b, c))}));
  }
  if (n > 2) {
    const Tensor a = width(0, n - 2), b = width(1, n - 2), c = add(a, b);
    parts.push_back(
        weighted(x, dim, 0, n - 2, {neg(over(b, a, c)), over(sub(b, a), a, b), over(a, b, c)}));
  }
  if (edge_order == 1) {
    parts.push_back(line(n - 2));
  } else {
    const Tensor a = width(n - 3, 1), b = width(n - 2, 1), c = add(a, b);
    parts.push_back(weighted(x, dim, n - 3, 1,
                             {over(b, a, c), neg(over(c, a, b)), over(add(a, twice(b)), b, c)}));
  }
  return cat(parts, dim);
}

// The dimensions to take slopes along, after the checks that both forms have in common.
Dims slope_dims(const Tensor& x, DimsView dim, int64_t edge_order) {
  check(edge_order == 1 || edge_order == 2, Code::invalid_argument,
        "torch.gradient only supports edge_order=1 and edge_order=2, got ", edge_order);
  check(x.dtype() != Dtype::u8, Code::dtype, "torch.gradient does not support uint8 input.");
  Dims dims;
  std::vector<bool> seen(size_t(x.dim()));
  for (int64_t i = 0; i < (dim.data() ? int64_t(dim.size()) : x.dim()); ++i) {
    const int64_t d = dim.data() ? wrap_dim(dim[size_t(i)], x.dim()) : i;
    check(x.dim() > 0, Code::shape, "torch.gradient expected samples along a dimension, got ", x);
    check(!seen[size_t(d)], Code::invalid_argument, "dim ", d,
          " appears multiple times in the list of dims");
    check(x.size(d) > edge_order, Code::shape,
          "torch.gradient expected each dimension size to be at least edge_order+1");
    seen[size_t(d)] = true;
    dims.push_back(d);
  }
  return dims;
}

// In torch's words, which say where the number of dimensions comes from.
void check_spacing(const Tensor& input, DimsView dim, size_t given) {
  if (dim.data()) {
    check(given == dim.size(), Code::invalid_argument,
          "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
          "arguments to have the same length, but got a spacing argument of length ",
          given, " and a dim argument of length ", dim.size(), ".");
  }
  check(dim.data() || given == size_t(input.dim()), Code::invalid_argument,
        "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
        "'self.dim() = ",
        input.dim(), "', since dim argument was not given, but got a list of length ", given);
}

}  // namespace

std::vector<Tensor> gradient(const Tensor& input, std::span<const double> spacing, DimsView dim,
                             int64_t edge_order) {
  const Dims dims = slope_dims(input, dim, edge_order);
  if (spacing.data() && spacing.size() != 1) check_spacing(input, dim, spacing.size());
  std::vector<Tensor> slopes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const double h = !spacing.data() ? 1 : spacing[spacing.size() == 1 ? 0 : i];
    slopes.push_back(even_slope(input, dims[i], h, edge_order));
  }
  return slopes;
}

std::vector<Tensor> gradient_at(const Tensor& input, TensorsView spacing, DimsView dim,
                                int64_t edge_order) {
  const Dims dims = slope_dims(input, dim, edge_order);
  check_spacing(input, dim, spacing.size());
  std::vector<Tensor> slopes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Tensor& places = spacing[i];
    const Call same_device{op::gradient_at, {input, places}, Devices::exact};
    check(places.dim() == 1, Code::shape,
          "torch.gradient expected each element of spacing to have one dimension, but got an "
          "element with ",
          places.dim(), " dimensions!");
    check(places.size(0) == input.size(dims[i]), Code::shape,
          "torch.gradient expected as many places as samples along dimension ", dims[i], ", ",
          input.size(dims[i]), ", but got ", places.size(0));
    slopes.push_back(uneven_slope(input, dims[i], places, edge_order));
  }
  return slopes;
}

Tensor diff(const Tensor& x, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append,
            Into) {
  check(x.dim() >= 1, Code::shape, "diff expects input to be at least one-dimensional");
  check(n >= 0, Code::invalid_argument, "order must be non-negative but got ", n);
  const int64_t d = wrap_dim(dim, x.dim());
  check_part("prepend", prepend, x, d);
  check_part("append", append, x, d);
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
