// Norms of matrices and conditions, powers and chains of products: made of other ops.
#include <cmath>
#include <vector>

#include "ops/linalg/factors.h"

namespace flambeau::ops {

namespace {

struct MatrixDims {
  int64_t row, column;
};

MatrixDims matrix_dims(const Tensor& x, DimsView dim) {
  check(x.dim() >= 2, Code::shape,
        "linalg.matrix_norm: The input tensor A must have at least 2 dimensions. Got ", x);
  check(dim.empty() || dim.size() == 2, Code::shape,
        "linalg.matrix_norm: dim must be a 2-tuple. Got ", ShapeText{dim});
  const MatrixDims d{wrap_dim(dim.empty() ? -2 : dim[0], x.dim()),
                     wrap_dim(dim.empty() ? -1 : dim[1], x.dim())};
  check(d.row != d.column, Code::invalid_argument,
        "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ", dim[1], ")");
  return d;
}

Tensor prepared(const Tensor& x, Dtype dtype) {
  if (is_complex(x.dtype())) fail_type(x.dtype(), "linalg.matrix_norm");
  check(is_floating(x.dtype()), Code::dtype,
        "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got ",
        name_of(x.dtype()));
  return dtype == Dtype::none ? x : to_dtype(x, dtype);
}

// Of singular values [..., k]: folded over the last dimension, with the others where they were.
template <class F>
Tensor of_singular_values(const Tensor& x, MatrixDims d, bool keepdim, const F& fold) {
  const Tensor s = linalg_svdvals(movedim(x, Dims{d.row, d.column}, Dims{-2, -1}));
  const Tensor y = fold(s);
  if (!keepdim) return y;
  Dims sizes(x.sizes());
  sizes[size_t(d.row)] = sizes[size_t(d.column)] = 1;
  return reshape(y, sizes);
}

// The sum along one dimension of the matrix, then the greatest or least along the other.
Tensor of_sums(const Tensor& x, int64_t summed, int64_t other, bool greatest, bool keepdim) {
  const Tensor sums = sum(abs(x), {&summed, 1}, true);
  Tensor y = greatest ? amax(sums, {&other, 1}, true) : amin(sums, {&other, 1}, true);
  return keepdim ? y : squeeze(y, Dims{summed, other});
}

Tensor number_norm(const Tensor& x, double ord, DimsView dim, bool keepdim, Dtype dtype) {
  const MatrixDims d = matrix_dims(x, dim);
  const Call c{op::linalg_matrix_norm, {x}};
  const Tensor in = prepared(c[0], dtype);
  const double size = std::abs(ord);
  const bool greatest = ord > 0;
  check(size == 1 || size == 2 || std::isinf(size), Code::invalid_argument,
        "linalg.matrix_norm: Order ", ord, " not supported.");
  if (size == 1) return of_sums(in, d.row, d.column, greatest, keepdim);
  if (std::isinf(size)) return of_sums(in, d.column, d.row, greatest, keepdim);
  return of_singular_values(in, d, keepdim, [&](const Tensor& s) {
    return greatest ? amax(s, Dims{-1}) : amin(s, Dims{-1});
  });
}

Tensor named_norm(const Tensor& x, std::string_view ord, DimsView dim, bool keepdim, Dtype dtype) {
  const MatrixDims d = matrix_dims(x, dim);
  const Call c{op::linalg_matrix_norm_by_name, {x}};
  const Tensor in = prepared(c[0], dtype);
  check(ord == "fro" || ord == "nuc", Code::invalid_argument, "linalg.matrix_norm: Order ", ord,
        " not supported.");
  if (ord == "fro") return norm(in, 2, Dims{d.row, d.column}, keepdim);
  return of_singular_values(in, d, keepdim, [](const Tensor& s) {
    const int64_t last = -1;
    return sum(s, {&last, 1});
  });
}

void check_orderable(const Tensor& x, DimsView dim) {
  check(!dim.empty() || x.dim() == 1 || x.dim() == 2, Code::shape,
        "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
        x.dim(), "D.");
  check(dim.size() <= 2, Code::shape,
        "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", ShapeText{dim});
}

// The norm of a matrix times that of its inverse, inf where there is none.
template <class F> Tensor condition(const Tensor& x, const F& norm_of, const char* shown) {
  check_square(shown, "A", x);
  const auto [inverse, info] = linalg_inv_ex(x, false);
  const Tensor singular = gt(info, num(int64_t{0}));
  const Tensor finite = masked_fill(inverse, unsqueeze(unsqueeze(singular, -1), -1), num(0.0));
  return where(singular, num(double(INFINITY)), mul(norm_of(x), norm_of(finite)));
}

// Where to split the product of factors first .. last, for the fewest multiplications.
using Splits = std::vector<std::vector<size_t>>;

Splits best_splits(const std::vector<double>& sizes) {
  const size_t n = sizes.size() - 1;
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  Splits at(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length) {
    for (size_t first = 0; first + length < n; ++first) {
      const size_t last = first + length;
      cost[first][last] = INFINITY;
      for (size_t split = first; split < last; ++split) {
        const double c = cost[first][split] + cost[split + 1][last] +
                         sizes[first] * sizes[split + 1] * sizes[last + 1];
        if (c < cost[first][last]) {
          cost[first][last] = c;
          at[first][last] = split;
        }
      }
    }
  }
  return at;
}

Tensor chain(const std::vector<Tensor>& factors, const Splits& at, size_t first, size_t last) {
  if (first == last) return factors[first];
  const size_t split = at[first][last];
  return matmul(chain(factors, at, first, split), chain(factors, at, split + 1, last));
}

}  // namespace

Tensor linalg_matrix_norm(const Tensor& A, double ord, DimsView dim, bool keepdim, Dtype dtype,
                          Into) {
  return number_norm(A, ord, dim, keepdim, dtype);
}
Tensor linalg_matrix_norm_by_name(const Tensor& A, std::string_view ord, DimsView dim, bool keepdim,
                                  Dtype dtype, Into) {
  return named_norm(A, ord, dim, keepdim, dtype);
}

Tensor linalg_norm(const Tensor& A, std::optional<double> ord, DimsView dim, bool keepdim,
                   Dtype dtype, Into) {
  if (ord) check_orderable(A, dim);
  const bool vector = !ord || dim.size() == 1 || (dim.empty() && A.dim() == 1);
  return vector ? norm(A, ord.value_or(2), dim, keepdim, dtype)
                : number_norm(A, *ord, dim, keepdim, dtype);
}
Tensor linalg_norm_by_name(const Tensor& A, std::string_view ord, DimsView dim, bool keepdim,
                           Dtype dtype, Into) {
  check_orderable(A, dim);
  return named_norm(A, ord, dim, keepdim, dtype);
}

Tensor norm_by_name(const Tensor& input, std::string_view p, DimsView dim, bool keepdim,
                    Dtype dtype, Into) {
  if (p == "fro") return norm(input, 2, dim, keepdim, dtype);
  check_orderable(input, dim);
  return named_norm(input, p, dim, keepdim, dtype);
}

Tensor linalg_cond(const Tensor& A, std::optional<double> p, Into into) {
  check_matrix("linalg.cond", "A", A);
  const Call c{op::linalg_cond.to(into), {A}};
  check_floating_matrix("linalg.cond", c[0]);
  const double ord = p.value_or(2);
  if (A.numel() == 0) return zeros(batch_sizes(A), c[0].dtype(), A.device());
  if (std::abs(ord) != 2) {
    return condition(
        c[0], [&](const Tensor& x) { return number_norm(x, ord, {}, false, Dtype::none); },
        "linalg.cond");
  }
  const Tensor s = linalg_svdvals(c[0]);
  const Tensor greatest = select(s, -1, 0), least = select(s, -1, s.size(-1) - 1);
  return ord > 0 ? div(greatest, least) : div(least, greatest);
}

Tensor linalg_cond_by_name(const Tensor& A, std::string_view p, Into into) {
  check_matrix("linalg.cond", "A", A);
  check(p == "fro" || p == "nuc", Code::invalid_argument,
        "linalg.cond got an invalid norm type: ", p);
  const Call c{op::linalg_cond_by_name.to(into), {A}};
  check_floating_matrix("linalg.cond", c[0]);
  if (A.numel() == 0) return zeros(batch_sizes(A), c[0].dtype(), A.device());
  return condition(
      c[0], [&](const Tensor& x) { return named_norm(x, p, {}, false, Dtype::none); },
      "linalg.cond");
}

Tensor linalg_matrix_power(const Tensor& A, int64_t n, Into into) {
  check_square("linalg.matrix_power", "A", A);
  if (n == 0) {
    Call c{op::linalg_matrix_power.to(into), {A}};
    const Tensor one = eye(A.size(-1), A.size(-1), A.dtype(), A.device());
    return c.track(clone(expand(one, A.sizes())), ZeroBackward<"CopyBackwards">{});
  }
  Tensor square = n < 0 ? linalg_inv(A) : A, power;
  for (uint64_t left = n < 0 ? -uint64_t(n) : uint64_t(n); left; left >>= 1) {
    if (left & 1) power = power ? matmul(power, square) : square;
    if (left > 1) square = matmul(square, square);
  }
  return n == 1 ? clone(power) : power;
}

Tensor linalg_multi_dot(TensorsView tensors, Into into) {
  const size_t n = tensors.size();
  check(n >= 2, Code::invalid_argument, "multi_dot(): expected at least 2 tensors but got ", n);
  const std::vector<Operand> operands(tensors.begin(), tensors.end());
  const Call c{op::linalg_multi_dot.to(into), operands};
  std::vector<Tensor> factors;
  std::vector<double> sizes;
  for (size_t i = 0; i < n; ++i) {
    const Tensor& x = c[i];
    const bool end = i == 0 || i == n - 1;
    check(x.dim() == 2 || (end && x.dim() == 1), Code::shape, "multi_dot(): ",
          i == 0       ? "the first tensor"
          : i == n - 1 ? "the last tensor"
                       : cat_text("tensor ", i),
          end ? " must be 1D or 2D but got " : " must be 2D but got ", x.dim(), "D");
    check(x.dtype() == c[0].dtype(), Code::dtype,
          "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
          name_of(c[0].dtype()), " and tensor ", i, " ", name_of(x.dtype()));
    factors.push_back(x.dim() == 2 ? x : unsqueeze(x, i == 0 ? 0 : 1));
    check(i == 0 || factors[i - 1].size(1) == factors[i].size(0), Code::shape,
          "multi_dot(): tensors ", i - 1, " and ", i, " with shapes ",
          ShapeText{factors[i ? i - 1 : 0].sizes()}, " and ", ShapeText{factors[i].sizes()},
          " cannot be multiplied");
    sizes.push_back(double(factors[i].size(0)));
  }
  sizes.push_back(double(factors.back().size(1)));
  Tensor y = chain(factors, best_splits(sizes), 0, n - 1);
  if (tensors.front().dim() == 1) y = squeeze(y, Dims{0});
  return tensors.back().dim() == 1 ? squeeze(y, Dims{-1}) : y;
}

Tensor linalg_cross(const Tensor& input, const Tensor& other, int64_t dim, Into into) {
  const Call c{op::linalg_cross.to(into), {input, other}};
  return cross(c[0], c[1], dim);
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim, Into into) {
  const Call c{op::linalg_vecdot.to(into), {x, y}};
  check(c[0].dtype() == c[1].dtype(), Code::dtype,
        "linalg.vecdot: Expected x and y to have the same dtype, but found ", name_of(x.dtype()),
        " and ", name_of(y.dtype()));
  return sum(mul(c[0], c[1]), {&dim, 1});
}

}  // namespace flambeau::ops
