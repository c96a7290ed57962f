// Distances, and slices kept within a distance of 0. Those of all pairs in the usual norm are made
// of products of matrices, forwards and backwards, so that no tensor of differences is needed.
#include "base/error.h"
#include "flambeau/matrix.h"
#include "ops/call.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

struct CdistBackward {
  Saved a, b, y;
  static constexpr auto name = "CdistBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor x1 = a, x2 = b, distance = y;
    const Tensor same = eq(distance, num(int64_t{0}));
    const Tensor w = drop_where(same, div(dy, where(same, num(int64_t{1}), distance)));
    const Tensor turned = transpose(w, -1, -2);
    return {wanted(0) ? sub(mul(x1, sum(w, Dims{-1}, true)), matmul(w, x2)) : Tensor(),
            wanted(1) ? sub(mul(x2, sum(turned, Dims{-1}, true)), matmul(turned, x1)) : Tensor()};
  }
};

Tensor squares(const Tensor& x) { return sum(mul(x, x), Dims{-1}, true); }

}  // namespace

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, int32_t mode) {
  check(is_floating(x1.dtype()) && is_floating(x2.dtype()), Code::dtype,
        "cdist only supports floating-point dtypes, got ", name_of(x1.dtype()), " and ",
        name_of(x2.dtype()));
  check(x1.dim() >= 2 && x2.dim() >= 2, Code::shape,
        "cdist only supports at least 2D tensors, got ", x1, " and ", x2);
  check(x1.size(-1) == x2.size(-1), Code::shape, "X1 and X2 must have the same number of columns. ",
        "X1: ", x1.size(-1), " X2: ", x2.size(-1));
  check(p >= 0, Code::invalid_argument, "cdist only supports non-negative p values");
  Call c{op::cdist, {x1, x2}};
  const Tensor a = c[0], b = c[1];
  const bool many = a.size(-2) > 25 || b.size(-2) > 25;
  const bool products = mode == FLAM_CDIST_USE_MM_FOR_EUCLID_DIST ||
                        (mode != FLAM_CDIST_DONOT_USE_MM_FOR_EUCLID_DIST && many);
  if (p != 2 || !products) return norm(sub(unsqueeze(a, -2), unsqueeze(b, -3)), p, Dims{-1});
  Tensor y;
  {
    const GradMode off(false);
    const Tensor twice = mul(matmul(a, transpose(b, -1, -2)), num(int64_t{2}));
    const Tensor total = add(squares(a), transpose(squares(b), -1, -2));
    y = sqrt(clamp_min(sub(total, twice), num(int64_t{0})));
  }
  y = alias(y);
  return c.track(y, CdistBackward{c.save(a), c.save(b), c.save_output(y)});
}

Tensor pdist(const Tensor& x, double p) {
  check(x.dim() == 2, Code::shape, "pdist only supports 2D tensors, got: ", x.dim(), "D");
  check(is_floating(x.dtype()), Code::dtype, "pdist only supports floating-point dtypes, got ",
        name_of(x.dtype()));
  check(p >= 0, Code::invalid_argument, "pdist only supports non-negative p values");
  const Call c{op::pdist, {x}};
  const Tensor pairs = triu_indices(x.size(0), x.size(0), 1, Dtype::i64, x.device());
  const auto rows = [&](int64_t side) { return index_select(c[0], 0, select(pairs, 0, side)); };
  const Tensor apart = sub(rows(0), rows(1));
  return x.size(1) == 0 ? sum(apart, Dims{-1}) : norm(apart, p, Dims{-1});
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  Call c{op::cosine_similarity, {x1, x2}};
  const Dtype dtype = c.promote();
  check(is_floating(dtype), Code::dtype,
        "expected common dtype to be floating point, yet common dtype is ", name_of(dtype));
  const Dims sizes = broadcast_shapes(c[0].sizes(), c[1].sizes());
  const Tensor a = expand(c[0], sizes), b = expand(c[1], sizes);
  const DimsView over(&dim, 1);
  const auto unit = [&](const Tensor& x) {
    return div(x, clamp_min(norm(x, 2, over, true), num(eps)));
  };
  return sum(mul(unit(a), unit(b)), over);
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const Call c{op::pairwise_distance, {x1, x2}};
  const int64_t last = -1;
  return norm(add(sub(c[0], c[1]), num(eps)), p, {&last, 1}, keepdim);
}

Tensor dist(const Tensor& a, const Tensor& b, double p) {
  Call c{op::dist, {a, b}};
  return norm(sub(c[0], c[1]), p);
}

Tensor renorm(const Tensor& x, double p, int64_t dim, double maxnorm, Into into) {
  check(p > 0, Code::invalid_argument, "renorm: non-positive-norm not supported");
  check(x.dim() > 1, Code::shape, "renorm: input needs at least 2 dimensions, got ", x.dim(),
        " dimensions");
  check(maxnorm >= 0, Code::invalid_argument, "renorm: expected maxnorm to be >= 0 but got ",
        maxnorm);
  Call c{op::renorm.to(into), {x}};
  const int64_t d = wrap_dim(dim, x.dim());
  Dims others;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i != d) others.push_back(i);
  }
  const Tensor in = kept_operand(c, 0), norms = norm(in, p, others, true);
  const Tensor factor =
      where(gt(norms, num(maxnorm)), div(num(maxnorm), add(norms, num(1e-7))), num(1.0));
  return mul(in, to_dtype(factor, in.dtype()));
}

}  // namespace flambeau::ops
