// Dropout of whole channels, and the kinds that keep mean and variance. The noise is drawn as a
// small tensor and multiplied in, so gradients are those of a product.
#include <cmath>

#include "base/error.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

// Where nothing is dropped, any dtype passes.
void check_probability(const char* op, const Tensor& x, double p, bool training) {
  check(p >= 0 && p <= 1, Code::invalid_argument,
        "dropout probability has to be between 0 and 1, but got ", p);
  check(!training || p == 0 || is_floating(x.dtype()), Code::dtype, "\"", op,
        "\" not implemented for '", name_of(x.dtype()), "'");
}

// 1 with probability 1 - p, else 0: for each element, or for each channel of [n, c, ...].
Tensor kept(const Tensor& x, double p, bool channels) {
  GradMode no_grad(false);
  Dims sizes(x.sizes());
  if (channels) {
    check(x.dim() >= 2, Code::shape, "Feature dropout requires at least 2 dimensions in the input");
    for (size_t d = 2; d < sizes.size(); ++d) sizes[d] = 1;
  }
  return bernoulli_(flambeau::empty(sizes, x.dtype(), x.device()), 1 - p);
}

// Dropped elements become SELU's least value; then a x + b restores mean 0 and variance 1.
Tensor alpha(const char* op, const Tensor& x, double p, bool training, bool channels) {
  check_probability(op, x, p, training);
  if (!training || p == 0) return x;
  if (p == 1) return mul(x, num(0.0));
  constexpr double least = 1.7580993408473766;
  const double a = 1 / std::sqrt((least * least * p + 1) * (1 - p));
  const Tensor keep = kept(x, p, channels);
  Tensor shift;
  {
    GradMode no_grad(false);
    shift = add(mul(sub(keep, num(1.0)), num(least * a)), num(least * a * p));
  }
  return add(mul(x, mul(keep, num(a))), shift);
}

}  // namespace

Tensor feature_dropout(const Tensor& x, double p, bool training, Into) {
  check_probability(op::feature_dropout, x, p, training);
  if (!training || p == 0) return x;
  if (p == 1) return mul(x, num(0.0));
  const Tensor keep = kept(x, p, true);
  return mul(x, div(keep, num(1 - p)));
}

Tensor alpha_dropout(const Tensor& x, double p, bool training, Into) {
  return alpha(op::alpha_dropout, x, p, training, false);
}

Tensor feature_alpha_dropout(const Tensor& x, double p, bool training, Into) {
  return alpha(op::feature_alpha_dropout, x, p, training, true);
}

}  // namespace flambeau::ops
