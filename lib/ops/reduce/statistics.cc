// Pairs of statistics and those made of others.
#include "base/error.h"
#include "ops/complex_gate.h"
#include "ops/formula.h"
#include "ops/ops.h"
#include "ops/read.h"
#include "ops/reduce/reduced_shape.h"

namespace flambeau::ops {

using Pair = std::tuple<Tensor, Tensor>;

Pair var_mean(const Tensor& x, DimsView dim, double correction, bool keepdim) {
  return {var(x, dim, correction, keepdim), mean(x, dim, keepdim)};
}
Pair std_mean(const Tensor& x, DimsView dim, double correction, bool keepdim) {
  return {ops::std(x, dim, correction, keepdim), mean(x, dim, keepdim)};
}

Tensor nanmean(const Tensor& x, DimsView dim, bool keepdim, Dtype dtype, Into) {
  check(is_floating(x.dtype()), Code::dtype,
        "nanmean(): expected input to have floating point dtype but got ", name_of(x.dtype()));
  const Tensor count = sum(logical_not(isnan(detach(x))), dim, keepdim);
  return div(nansum(x, dim, keepdim, dtype), count);
}

Pair aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  if (!dim) {
    check(x.numel() > 0, Code::shape,
          "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
          "identity.");
  }
  return {amin(x, dims_of(dim), keepdim), amax(x, dims_of(dim), keepdim)};
}

Tensor cov(const Tensor& x, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  check(x.dim() <= 2, Code::shape,
        "cov(): expected input to have two or fewer dimensions but got an input with ", x.dim(),
        " dimensions");
  check(x.dtype() != Dtype::boolean, Code::dtype, "cov(): bool dtype is not supported for input");
  if (is_complex(x.dtype())) check_takes_complex(op::cov, x.dtype());
  const Tensor in = x.dim() < 2 ? reshape(x, Dims{1, x.numel()}) : x;
  const int64_t n = in.size(1);
  Tensor w;
  for (const Tensor& weights : {fweights, aweights}) {
    if (!weights) continue;
    check(weights.dim() <= 1 && weights.numel() == n, Code::shape,
          "cov(): expected weights to have the same numel as there are observations: ",
          weights.numel(), " != ", n);
    check(is_true(ge(min(weights), num(int64_t{0}))), Code::invalid_argument,
          "cov(): weights cannot be negative");
    w = w ? mul(w, weights) : weights;
  }
  check(!fweights || is_integral(fweights.dtype()), Code::dtype,
        "cov(): expected fweights to have integral dtype but got fweights with ",
        fweights ? name_of(fweights.dtype()) : "", " dtype");
  check(!aweights || is_floating(aweights.dtype()), Code::dtype,
        "cov(): expected aweights to have floating point dtype but got aweights with ",
        aweights ? name_of(aweights.dtype()) : "", " dtype");
  const Tensor wide = is_floating(in.dtype()) ? in : to_dtype(in, defaults().dtype);
  const Dims columns{1};
  const Tensor total = w ? sum(w) : Tensor();
  const Tensor centre =
      w ? div(sum(mul(wide, w), columns, true), total) : div(sum(wide, columns, true), num(n));
  Tensor norm;
  if (!w) {
    norm = num(double(n - correction));
  } else if (!aweights || correction == 0) {
    norm = sub(total, num(correction));
  } else {
    const Tensor spread =
        fweights ? sum(mul(mul(fweights, aweights), aweights)) : sum(mul(aweights, aweights));
    norm = sub(total, mul(div(spread, total), num(correction)));
  }
  const Tensor off = sub(wide, centre);
  const Tensor weighted = w ? mul(off, w) : off;
  const Tensor product = matmul(off, transpose(to_dtype(weighted, off.dtype()), 0, 1));
  const Tensor y = div(product, clamp_min(norm, num(int64_t{0})));
  return squeeze(y, Dims{0, 1});  // of one variable: a number
}

Tensor corrcoef(const Tensor& x) {
  check(x.dim() <= 2, Code::shape,
        "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
        x.dim(), " dimensions");
  const Tensor c = cov(x, 1, {}, {});
  if (c.dim() == 0) return div(c, c);
  const Tensor deviation = sqrt(diagonal(c));
  const Tensor y = div(div(c, unsqueeze(deviation, 1)), unsqueeze(deviation, 0));
  return clamp(y, num(int64_t{-1}), num(int64_t{1}));
}

}  // namespace flambeau::ops
