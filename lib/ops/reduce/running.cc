// Running sums and products along a dimension.
#include "base/error.h"
#include "kernels/scan/scan.h"
#include "ops/formula.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

Tensor running_sum(const Tensor& input, int64_t dim, Dtype dtype, bool backwards, Into into = {});

struct CumsumBackward {
  int64_t dim;
  bool backwards;
  static constexpr auto name = "CumsumBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {running_sum(dy, dim, Dtype::none, !backwards)};
  }
};

// A dtype that a call names is that of what it writes.
void check_named(Dtype dtype, Into into) {
  const Tensor* out = target_of(into);
  check(dtype == Dtype::none || !out || out->dtype() == dtype, Code::dtype,
        "Expected out tensor to have dtype ", name_of(dtype), ", but got ",
        name_of(out ? out->dtype() : dtype), " instead");
}

Dtype running_dtype(Dtype input, Dtype wanted) {
  return wanted != Dtype::none ? wanted : is_differentiable(input) ? input : Dtype::i64;
}

Tensor scanned(Call& c, const Kernel& k, int64_t dim, Dtype dtype, bool backwards) {
  c.convert(0, running_dtype(c[0].dtype(), dtype));
  Tensor y = c.output(c[0].sizes(), c[0].dtype());
  run_scan(c.op(), k, y, c[0], dim, backwards);
  return y;
}

Tensor running_sum(const Tensor& input, int64_t dim, Dtype dtype, bool backwards, Into into) {
  const int64_t d = wrap_dim(dim, input.dim());
  check_named(dtype, into);
  Call c{op::cumsum.to(into), {input}};
  if (dtype == Dtype::none) dtype = c.out_dtype();
  return c.track(scanned(c, kCumsum, d, dtype, backwards), CumsumBackward{d, backwards});
}

// dx[k] = sum over i >= k of dy[i] * (product of x[0..i] without x[k]), in quadratic space: right
// where terms are 0.
Tensor cumprod_slope_by_definition(const Tensor& dy, const Tensor& x, int64_t dim) {
  const int64_t n = x.size(dim);
  const Tensor at = arange(num(int64_t{0}), num(n), num(int64_t{1}), Dtype::i64, x.device());
  const Tensor k = unsqueeze(at, 1);
  const Tensor others = where(eq(k, at), num(int64_t{1}), unsqueeze(transpose(x, dim, -1), -2));
  const Tensor products = keep_where(ge(at, k), cumprod(others, -1));
  const Tensor g = unsqueeze(transpose(dy, dim, -1), -2);
  const int64_t last = -1;
  return transpose(sum(mul(g, products), {&last, 1}), dim, -1);
}

// The same in linear space and without a look at the terms. The products without a term end before
// the first 0; at it they are those of the terms with a 1 in its place, which end at the second.
Tensor cumprod_slope_at_zeros(const Tensor& dy, const Tensor& x, const Tensor& y, int64_t dim) {
  const auto sum_from = [&](const Tensor& t) { return running_sum(t, dim, Dtype::none, true); };
  const Tensor zeros = cumsum(eq(x, num(int64_t{0})), dim);
  const Tensor before = eq(zeros, num(int64_t{0}));
  const Tensor first = logical_and(eq(x, num(int64_t{0})), eq(zeros, num(int64_t{1})));
  const Tensor without = cumprod(where(first, num(int64_t{1}), x), dim);
  const Tensor up_to_first = div(sum_from(mul(dy, y)), where(before, x, num(int64_t{1})));
  return where(first, sum_from(mul(dy, without)), keep_where(before, up_to_first));
}

struct CumprodBackward {
  Saved x, y;
  int64_t dim;
  static constexpr auto name = "CumprodBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x;
    if (in.dim() == 0 || in.numel() == 0) return {dy};
    if (!modes.grad && !in.device().is_cpu()) return {cumprod_slope_at_zeros(dy, in, y, dim)};
    if (!is_true(all(in))) {
      return {modes.grad ? cumprod_slope_by_definition(dy, in, dim)
                         : cumprod_slope_at_zeros(dy, in, y, dim)};
    }
    return {div(running_sum(mul(dy, y), dim, Dtype::none, true), in)};
  }
};

}  // namespace

Tensor cumsum(const Tensor& input, int64_t dim, Dtype dtype, Into into) {
  return running_sum(input, dim, dtype, false, into);
}

Tensor cumprod(const Tensor& input, int64_t dim, Dtype dtype, Into into) {
  const int64_t d = wrap_dim(dim, input.dim());
  check_named(dtype, into);
  Call c{op::cumprod.to(into), {input}};
  if (dtype == Dtype::none) dtype = c.out_dtype();
  c.convert(0, running_dtype(c[0].dtype(), dtype));
  CumprodBackward gradient{c.save(c[0]), {}, d};
  Tensor y = scanned(c, kCumprod, d, dtype, false);
  gradient.y = c.save_output(y);
  return c.track(std::move(y), std::move(gradient));
}

}  // namespace flambeau::ops
