// Gamma, Poisson and binomial variables with parameters per element, and shares of a whole. Only
// gammas and shares follow their parameters smoothly; how is a kernel of its own, which nobody
// differentiates again.
#include "kernels/random/random_counts.h"

#include "base/error.h"
#include "ops/elementwise/special.h"
#include "ops/formula.h"
#include "ops/random/draw.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

constexpr Op kStandardGammaGradOp{"standard_gamma_grad"}, kDirichletGradOp{"dirichlet_grad"};

void check_floating(const char* op, const Tensor& x) {
  check(is_floating(x.dtype()), Code::dtype, "\"", op, "\" not implemented for '",
        name_of(x.dtype()), "'");
}

Tensor plain(const Tensor& x) { return contiguous(detach(x)); }

template <Name N> struct CountBackward {
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? zeros_as(dy) : Tensor(), wanted(1) ? zeros_as(dy) : Tensor()};
  }
};

Tensor gamma_slope(const Tensor& alpha, const Tensor& x) {
  Call c{kStandardGammaGradOp, {alpha, x}};
  return c.no_gradient(c.map(kGammaSlope, {c[0], c[1]}));
}

struct GammaBackward {
  Saved alpha, y;
  static constexpr auto name = "StandardGammaBackward0";
  Tensors operator()(const Tensor& dy) const { return {mul(dy, gamma_slope(alpha, y))}; }
};

Tensor sum_last(const Tensor& x) {
  const int64_t last = -1;
  return sum(x, {&last, 1}, true);
}

// A share moves with its own concentration as a beta variable does; the others keep to each other
// and give way.
struct DirichletBackward {
  Saved alpha, y;
  static constexpr auto name = "DirichletBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor of = alpha;
    const Tensor at = to_dtype(of, Dtype::f64), shares = to_dtype(y, Dtype::f64);
    const Tensor rest = sub(sum_last(at), at);
    Call c{kDirichletGradOp, {at, shares, rest}};
    const Tensor slope = c.no_gradient(c.map(kShareSlope, {c[0], c[1], c[2]}));
    const Tensor wide = to_dtype(dy, Dtype::f64);
    return {to_dtype(mul(slope, sub(wide, sum_last(mul(shares, wide)))), of.dtype())};
  }
};

// Shares in (0, 1) whatever was rounded.
Tensor inside(const Tensor& shares) {
  const Dtype d = shares.dtype();
  const double least = d == Dtype::f64 ? 0x1p-1022 : d == Dtype::f16 ? 0x1p-14 : 0x1p-126;
  const double below_one = d == Dtype::f64    ? 0x1p-53
                           : d == Dtype::f32  ? 0x1p-24
                           : d == Dtype::bf16 ? 0x1p-8
                                              : 0x1p-11;
  return clamp_max(clamp_min(shares, num(least)), num(1 - below_one));
}

}  // namespace

Tensor sample_dirichlet(const Tensor& alpha, Generator* g) {
  check_floating(op::sample_dirichlet, alpha);
  check(alpha.dim() > 0, Code::shape, op::sample_dirichlet.name,
        ": concentration must have at least one dimension, got ", alpha);
  const RandomState state = fixed_state(op::sample_dirichlet, g, alpha.device());
  Call c{op::sample_dirichlet, {alpha}};
  const Tensor wide = plain(to_dtype(detach(alpha), Dtype::f64));
  const Tensor logs = flambeau::empty(wide.sizes(), wide.dtype(), wide.device());
  run_variable(op::sample_dirichlet, kLogGamma, logs, state, wide, {});
  Tensor y = inside(to_dtype(softmax(logs, -1), alpha.dtype()));
  DirichletBackward gradient{c.save(c[0]), c.save_output(y)};
  return c.track(std::move(y), std::move(gradient));
}

Tensor standard_gamma(const Tensor& alpha, Generator* g) {
  check_floating(op::standard_gamma, alpha);
  Call c{op::standard_gamma, {alpha}};
  Tensor y = flambeau::empty(alpha.sizes(), alpha.dtype(), alpha.device());
  const RandomState state = fixed_state(op::standard_gamma, g, alpha.device());
  run_variable(op::standard_gamma, kGamma, y, state, plain(alpha), {});
  GammaBackward gradient{c.save(alpha), c.save_output(y)};
  return c.track(std::move(y), std::move(gradient));
}

Tensor poisson(const Tensor& mean, Generator* g) {
  check_floating(op::poisson, mean);
  if (mean.device().is_cpu() && mean.numel() > 0) {
    const GradMode off(false);
    check(is_true(all(ge(detach(mean), num(0.0)))), Code::invalid_argument,
          "invalid Poisson rate, expected rate to be non-negative; in ", mean);
  }
  Call c{op::poisson, {mean}};
  Tensor y = flambeau::empty(mean.sizes(), mean.dtype(), mean.device());
  run_variable(op::poisson, kPoisson, y, fixed_state(op::poisson, g, mean.device()), plain(mean),
               {});
  return c.track(std::move(y), CountBackward<"PoissonBackward0">{});
}

Tensor binomial(const Tensor& count, const Tensor& prob, Generator* g) {
  check_floating(op::binomial, count);
  check(count.dtype() == prob.dtype(), Code::dtype,
        "binomial only supports floating-point dtypes for prob, the same as count's, got: ",
        name_of(prob.dtype()), " and ", name_of(count.dtype()));
  Call c{op::binomial, {count, prob}, Devices::exact};
  const Dims sizes = broadcast_shapes(count.sizes(), prob.sizes());
  Tensor y = flambeau::empty(sizes, count.dtype(), count.device());
  const RandomState state = fixed_state(op::binomial, g, count.device());
  run_variable(op::binomial, kBinomial, y, state, plain(expand(detach(count), sizes)),
               plain(expand(detach(prob), sizes)));
  return c.track(std::move(y), CountBackward<"BinomialBackward0">{});
}

}  // namespace flambeau::ops
