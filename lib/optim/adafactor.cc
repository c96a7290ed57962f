// Adafactor: Adam's second moment kept as one row and one column per matrix, steps relative to the
// parameter's size. Nothing waits for the device. Source: Shazeer and Stern, 2018, arXiv
// 1804.04235; `lr` bounds the relative step, and epsilon stands where torch puts it.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/half.h"
#include "ops/formula.h"
#include "optim/matrix_rules.h"

namespace flambeau::optim {

using namespace ops;

namespace {

double machine_epsilon(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return std::numeric_limits<double>::epsilon();
    case Dtype::f16:
      return 0x1p-10;
    case Dtype::bf16:
      return 0x1p-7;
    default:
      return double(std::numeric_limits<float>::epsilon());
  }
}

Tensor mean_along(const Tensor& x, int64_t dim) {
  const int64_t dims[] = {dim};
  return mean(x, dims, true);
}

// The running mean of squares, for a matrix by its factors.
Tensor variance(const Parameter& p, const Tensor& grad, const Tensor& share, double eps1) {
  const Tensor squares = mul(grad, grad);
  if (grad.dim() < 2) return clone(lerp_(p.third, squares, share));
  const Tensor row = lerp_(p.first, mean_along(squares, -1), share);
  const Tensor column = lerp_(p.second, mean_along(squares, -2), share);
  return div_(matmul(row, column), clamp_min_(mean_along(row, -2), num(eps1)));
}

}  // namespace

void step_adafactor(const Parameter& p, const RuleOptions& o) {
  const Tensor &x = p.param, grad = o[kOptMaximize] != 0 ? neg(p.grad) : p.grad;
  const Dtype dtype = x.dtype();
  const double lr = o[kOptLr], root = std::sqrt(double(x.numel()));
  const double eps1 = std::isnan(o[kOptEps1]) ? machine_epsilon(dtype) : o[kOptEps1];
  add_(p.step, num(1.0));
  const Tensor step = to(p.step, {}, Dtype::f64);
  const Tensor share = to(pow(step, num(o[kOptBeta2Decay])), {}, dtype);
  const Tensor size = clamp_min(div(norm(x), num(root)), num(o[kOptEps2]));
  const Tensor alpha = mul(size, to(clamp_max(reciprocal(sqrt(step)), num(lr)), {}, dtype));
  if (o[kOptWeightDecay] != 0) mul_(x, num(1 - lr * o[kOptWeightDecay]));
  const Tensor squares = clamp_min_(variance(p, grad, share, eps1), num(eps1 * eps1));
  const Tensor update = mul_(rsqrt_(squares), grad);
  const Tensor clip = clamp_min(div(norm(update), num(root * o[kOptClip])), num(1.0));
  sub_(x, mul_(update, div(alpha, clip)));
}

}  // namespace flambeau::optim
