// Variance, standard deviation, norms and logsumexp: reductions that measure from a centre or take
// a root.
#include <cmath>

#include "base/error.h"
#include "base/warning.h"
#include "kernels/fold/fold.h"
#include "ops/formula.h"
#include "ops/reduce/reduced_shape.h"

namespace flambeau::ops {

namespace {

// The gradient of the variance in every term: 2 / (n - correction) * (x - mean), times g.
Tensor variance_slope(const Tensor& g, const Tensor& x, const ReducedShape& over,
                      double correction) {
  const double divisor = double(over.count) - correction;
  return mul(mul(g, num(2 / divisor)), sub(x, mean(x, over.dims, true)));
}

struct VarBackward {
  Saved x;
  ReducedShape over;
  double correction;
  static constexpr auto name = "VarBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {variance_slope(reshape(dy, over.kept), x, over, correction)};
  }
};

struct StdBackward {
  Saved x, y;
  ReducedShape over;
  double correction;
  static constexpr auto name = "StdBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor root = y;
    const Tensor g = drop_where(eq(root, num(int64_t{0})), div(dy, mul(root, num(2.0))));
    return {variance_slope(reshape(g, over.kept), x, over, correction)};
  }
};

void check_floating(const char* op, const char* text, const Tensor& x) {
  if (is_complex(x.dtype())) fail_type(x.dtype(), op);
  check(is_floating(x.dtype()), Code::dtype, text, " Got ", name_of(x.dtype()),
        "; convert it: x.to(float32)");
}

Tensor moment(Form op, const Tensor& input, DimsView dim, double correction, bool keepdim,
              bool root) {
  check_floating(root ? "std" : "var",
                 "std and var only support floating point and complex dtypes.", input);
  Call c{op, {input}};
  const ReducedShape over(input, dim, keepdim);
  if (double(over.count) <= correction) [[unlikely]] {
    warn(op,
         "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
         "factor (input numel divided by output numel).");
  }
  Tensor y = c.output(over.sizes, input.dtype());
  run_var(op, y, input, over.dims, correction, root);
  if (!root) return c.track(std::move(y), VarBackward{c.save(input), over, correction});
  StdBackward gradient{c.save(input), c.save_output(y), over, correction};
  return c.track(std::move(y), std::move(gradient));
}

// ---- norms --------------------------------------------------------------------------------------

struct NormBackward {
  Saved x, y;
  ReducedShape over;
  double p;
  static constexpr auto name = "LinalgVectorNormBackward0";

  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x, norm = reshape(y, over.kept), g = reshape(dy, over.kept);
    const Tensor none = num(int64_t{0});
    if (p == 0) return {zeros_as(in)};
    if (p == 1) return {mul(g, sign(in))};
    if (p == 2) {  // in this order: a half type has no gradient by a small norm
      const Tensor divisor = where(eq(norm, none), num(double(INFINITY)), norm);
      return {mul(g, div(in, divisor))};
    }
    if (std::isinf(p)) {
      const Tensor top = eq(abs(in), norm);
      const Tensor equals = sum(top, over.dims, true, dy.dtype());
      return {mul(sign(in), keep_where(top, div(g, equals)))};
    }
    const Tensor slope = mul(sign(in), pow(abs(in), num(p - 1)));
    const Tensor scale = drop_where(eq(norm, none), div(g, pow(norm, num(p - 1))));
    return {mul(drop_where(eq(in, none), slope), scale)};
  }
};

void fold_norm(const Tensor& y, const Tensor& x, const ReducedShape& over, double p) {
  const Dtype dtype = x.dtype();
  if (p == 0) return run_fold(op::norm, kTruth, dtype, y, x, over.dims, {kCountTrue});
  if (p == 1) return run_fold(op::norm, kNorm1, dtype, y, x, over.dims);
  if (p == 2) return run_fold(op::norm, kSumSquares, dtype, y, x, over.dims, {1});
  if (std::isinf(p)) return run_fold(op::norm, p > 0 ? kNormMax : kNormMin, dtype, y, x, over.dims);
  run_fold(op::norm, kNormP, dtype, y, x, over.dims, {p});
}

struct LogsumexpBackward {
  Saved x, y;
  Dims kept;
  static constexpr auto name = "LogsumexpBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor result = reshape(y, kept);
    const Tensor nothing = eq(result, num(-INFINITY));  // no slope rather than NaN
    return {mul(reshape(dy, kept), exp(sub(x, drop_where(nothing, result))))};
  }
};

}  // namespace

Tensor var(const Tensor& input, DimsView dim, double correction, bool keepdim, Into) {
  return moment(op::var, input, dim, correction, keepdim, false);
}
Tensor std(const Tensor& input, DimsView dim, double correction, bool keepdim, Into) {
  return moment(op::std, input, dim, correction, keepdim, true);
}

Tensor norm(const Tensor& input, double p, DimsView dim, bool keepdim, Dtype dtype) {
  check_floating("linalg.vector_norm",
                 "linalg.vector_norm: Expected a floating point or complex tensor as input.",
                 input);
  Call c{op::norm, {input}};
  if (dtype != Dtype::none) c.convert(0, dtype);
  const ReducedShape over(c[0], dim, keepdim);
  if ((p < 0 || std::isinf(p)) && over.count == 0) {
    fail(Code::shape, "linalg.vector_norm cannot compute the ", p,
         " norm on an empty tensor because the operation does not have an identity. Got ",
         describe(input));
  }
  Tensor y = c.output(over.sizes, c[0].dtype());
  fold_norm(y, c[0], over, p);
  NormBackward gradient{c.save(c[0]), c.save_output(y), over, p};
  return c.track(std::move(y), std::move(gradient));
}

Tensor logsumexp(const Tensor& input, DimsView dim, bool keepdim, Into) {
  Call c{op::logsumexp, {input}};
  float_operands(c);
  const ReducedShape over(c[0], dim, keepdim);
  Tensor y = c.output(over.sizes, c[0].dtype());
  run_logsumexp(op::logsumexp, y, c[0], over.dims);
  LogsumexpBackward gradient{c.save(c[0]), c.save_output(y), over.kept};
  return c.track(std::move(y), std::move(gradient));
}

}  // namespace flambeau::ops
