// Tensors made by a formula of the position, and triangles, which are cut by one.
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "kernels/random/random.h"
#include "ops/call.h"
#include "ops/ops.h"
#include "tensor/defaults.h"

namespace flambeau::ops {

namespace {

// A 0-d operand of arange, on the host: exact where it is an integer.
struct Number {
  double real;
  int64_t whole;
  bool integral;
};

Number number_of(const Tensor& t) {
  check(t.dim() == 0, Code::shape, "arange: start, end and step are numbers or 0-d tensors, got ",
        t);
  const GradMode off(false);
  const bool integral = !is_floating(t.dtype());
  const Tensor wide = to(t, kCpu, integral ? Dtype::i64 : Dtype::f64);
  wait_for_host_access(wide.storage()->block());
  if (!integral) return {*wide.data_as<double>(), int64_t(*wide.data_as<double>()), false};
  return {double(*wide.data_as<int64_t>()), *wide.data_as<int64_t>(), true};
}

int64_t arange_length(const Number& start, const Number& end, const Number& step, bool integral) {
  if (integral) {
    int64_t span = 0;
    const bool over = __builtin_sub_overflow(end.whole, start.whole, &span) ||
                      __builtin_add_overflow(span, step.whole - (step.whole > 0 ? 1 : -1), &span);
    check(!over, Code::shape, "invalid size, possible overflow?");
    return span / step.whole;
  }
  const double length = std::ceil((end.real - start.real) / step.real);
  check(length < 0x1p63, Code::shape, "invalid size, possible overflow?");
  return int64_t(length);
}

Tensor vector_of(int64_t n, Dtype dtype, Device device, bool requires_grad) {
  return empty(Dims{n}, dtype, device, requires_grad);
}

template <bool Lower> struct TriangleBackward {
  int64_t diagonal;
  static constexpr auto name = Lower ? "TrilBackward0" : "TriuBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {Lower ? tril(dy, diagonal) : triu(dy, diagonal)};
  }
};

template <bool Lower> Tensor triangle(Form name, const Tensor& x, int64_t diagonal) {
  check(x.dim() >= 2, Code::shape, name, ": input tensor must have at least 2 dimensions");
  Call c{name, {x}};
  Tensor y = c.output(x.sizes());
  run_triangle(name, y, x, diagonal, !Lower);
  return c.track(std::move(y), TriangleBackward<Lower>{diagonal});
}

}  // namespace

Tensor arange(const Tensor& start, const Tensor& end, const Tensor& step, Dtype dtype,
              Device device, bool requires_grad) {
  const Number from = number_of(start), to = number_of(end), by = number_of(step);
  const bool integers = from.integral && to.integral && by.integral;
  check(by.real != 0, Code::invalid_argument, "step must be nonzero");
  check(std::isfinite(from.real) && std::isfinite(to.real), Code::invalid_argument,
        "unsupported range: ", from.real, " -> ", to.real);
  check((by.real > 0) == (to.real >= from.real) || to.real == from.real, Code::invalid_argument,
        "upper bound and lower bound inconsistent with step sign: from ", from.real, " to ",
        to.real, " by ", by.real);
  const Dtype d = dtype != Dtype::none ? dtype : integers ? Dtype::i64 : defaults().dtype;
  const int64_t n = arange_length(from, to, by, integers);
  const Tensor y = vector_of(n, d, device, requires_grad);
  run_arange(op::arange, y, from.real, by.real, from.whole, by.whole);
  return y;
}

Tensor linspace(double start, double end, int64_t steps, Dtype dtype, Device device,
                bool requires_grad) {
  check(steps >= 0, Code::invalid_argument, "number of steps must be non-negative, got ", steps);
  const Tensor y = vector_of(steps, dtype, device, requires_grad);
  if (!is_floating(y.dtype())) {  // the ends become integers first, as in torch
    start = std::trunc(start);
    end = std::trunc(end);
  }
  run_linspace(op::linspace, y, start, end);
  return y;
}

Tensor logspace(double start, double end, int64_t steps, double base, Dtype dtype, Device device,
                bool requires_grad) {
  const GradMode off(false);
  if (!is_floating(dtype_or_default(dtype))) {
    start = std::trunc(start);
    end = std::trunc(end);
  }
  const Tensor exponents = linspace(start, end, steps, Dtype::f64, device);
  const Tensor y = to_dtype(pow(wrapped_number(base), exponents), dtype_or_default(dtype));
  if (requires_grad) autograd_data(y).requires_grad = true;
  return y;
}

Tensor eye(int64_t n, std::optional<int64_t> m, Dtype dtype, Device device, bool requires_grad) {
  const int64_t columns = m.value_or(n);
  check(n >= 0 && columns >= 0, Code::shape, "n and m must be greater or equal to 0, got ", n,
        " and ", columns);
  const Tensor y = empty(Dims{n, columns}, dtype, device, requires_grad);
  run_eye(op::eye, y);
  return y;
}

Tensor tril(const Tensor& x, int64_t diagonal, Into into) {
  return triangle<true>(op::tril.to(into), x, diagonal);
}
Tensor triu(const Tensor& x, int64_t diagonal, Into into) {
  return triangle<false>(op::triu.to(into), x, diagonal);
}

}  // namespace flambeau::ops
