// Quantiles: ranks of the sorted line, and what lies between two of them. Made of ops, so that
// gradients follow.
#include <cmath>

#include "base/error.h"
#include "flambeau/sort.h"
#include "ops/call.h"
#include "ops/formula.h"
#include "ops/ops.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

void check_quantile(const char* op, const Tensor& x, const Tensor& q) {
  check(x.numel() > 0, Code::shape, op, "() input tensor must be non-empty");
  check(q.dim() <= 1, Code::shape, op, "() q must be a scalar or 1D tensor");
  check(x.dtype() == Dtype::f32 || x.dtype() == Dtype::f64, Code::dtype, op,
        "() input tensor must be either float or double dtype");
  check(q.is_wrapped_number() || q.dtype() == x.dtype(), Code::dtype, op,
        "() q tensor must be same dtype as the input tensor");
  check(q.is_wrapped_number() || q.device() == x.device(), Code::device_mismatch, op,
        "() q tensor must be on the same device as the input tensor");
  const GradMode off(false);
  const Tensor inside = logical_and(ge(q, num(int64_t{0})), le(q, num(int64_t{1})));
  if (q.numel() == 0 || is_true(all(inside))) return;
  if (q.dim() == 0) {
    fail(Code::invalid_argument, op, "() q must be in the range [0, 1] but got ", read_number(q));
  }
  fail(Code::invalid_argument, op, "() q values must be in the range [0, 1]");
}

// Elements of each line at whole ranks, by a way of rounding.
Tensor at_ranks(const Tensor& line, const Tensor& ranks, int32_t interpolation) {
  if (interpolation == FLAM_QUANTILE_INTERPOLATION_LOWER) {
    return gather(line, -1, to_dtype(floor(ranks), Dtype::i64));
  }
  if (interpolation == FLAM_QUANTILE_INTERPOLATION_HIGHER) {
    return gather(line, -1, to_dtype(ceil(ranks), Dtype::i64));
  }
  if (interpolation == FLAM_QUANTILE_INTERPOLATION_NEAREST) {
    return gather(line, -1, to_dtype(round(ranks), Dtype::i64));
  }
  const Tensor below = floor(ranks);
  const Tensor weight = interpolation == FLAM_QUANTILE_INTERPOLATION_MIDPOINT
                            ? mul(ne(ranks, below), scalar_f64(0.5))
                            : sub(ranks, below);
  return lerp(gather(line, -1, to_dtype(below, Dtype::i64)),
              gather(line, -1, to_dtype(ceil(ranks), Dtype::i64)), to_dtype(weight, line.dtype()));
}

Tensor quantile_of(Form op, const Tensor& input, const Tensor& q, std::optional<int64_t> dim,
                   bool keepdim, int32_t interpolation, bool skip_nan) {
  Call c{op, {input, q}};
  const Tensor& x = c[0];
  check_quantile(op, x, c[1]);
  check(interpolation >= FLAM_QUANTILE_INTERPOLATION_LINEAR &&
            interpolation <= FLAM_QUANTILE_INTERPOLATION_NEAREST,
        Code::invalid_argument, op,
        "() interpolation must be one of linear, lower, higher, midpoint or nearest");
  const int64_t d = dim ? wrap_dim(*dim, x.dim()) : 0;
  const Tensor last = !dim || x.dim() == 0 ? ravel(x) : movedim(x, Dims{d}, Dims{-1});
  const Tensor line = std::get<0>(sort(last));
  const int64_t n = line.size(-1);
  const Tensor shares = to(ravel(c[1]), x.device(), x.dtype());
  Tensor ranks;
  if (skip_nan) {
    const Tensor numbers = sum(logical_not(isnan(line)), Dims{-1}, true);
    ranks =
        clamp_min(mul(shares, to_dtype(sub(numbers, num(int64_t{1})), x.dtype())), num(int64_t{0}));
  } else {
    Dims wide(line.sizes());
    wide.back() = shares.numel();
    const Tensor spoiled = any(isnan(detach(line)), Dims{-1}, true);  // NaN are last in order
    ranks = where(spoiled, num(n - 1), expand(mul(shares, num(n - 1)), wide));
    ranks = to_dtype(ranks, x.dtype());
  }
  Tensor y = at_ranks(line, ranks, interpolation);
  // The shares come first, the dimension is dropped or has size 1.
  y = movedim(y, Dims{-1}, Dims{0});
  if (keepdim) {
    Dims kept(y.sizes());
    if (dim && x.dim()) {
      kept.insert(size_t(d) + 1, 1);
    } else {
      for (int64_t i = 0; i < x.dim(); ++i) kept.push_back(1);
    }
    y = reshape(y, kept);
  }
  return q.dim() == 0 ? squeeze(y, Dims{0}) : y;
}

}  // namespace

Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                int32_t interpolation, Into into) {
  return quantile_of(op::quantile.to(into), x, q, dim, keepdim, interpolation, false);
}

Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   int32_t interpolation, Into into) {
  return quantile_of(op::nanquantile.to(into), x, q, dim, keepdim, interpolation, true);
}

}  // namespace flambeau::ops
