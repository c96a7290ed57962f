// Activations. Each gradient is one kernel, and the same as ops where it is differentiated again.
#include "ops/elementwise/activation.h"

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "flambeau/activation.h"
#include "flambeau/binary.h"
#include "graph/masked_gradient.h"
#include "graph/receiver.h"
#include "ops/elementwise/relu_gradient.h"
#include "ops/fits.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

Tensor zero() { return num(int64_t{0}); }

void check_not_bool(const Tensor& x, const char* text) {
  check(x.dtype() != Dtype::boolean, Code::dtype, text, "; convert the operand: x.to(float32)");
}

// x with slope f(dy, x): one kernel, or `formula`.
template <Name N, class F> Tensor unit(Form op, const Kernel& k, const Kernel& slope, T input,
                                       F formula, std::array<double, 3> params = {}) {
  return from_input<N>(
      op, k, input,
      [=, &slope](T dy, T x) {
        return fused(slope, {dy, x}, {params[0], params[1], params[2]},
                     [&] { return formula(dy, x); });
      },
      {params[0], params[1], params[2]}, Domain::any);
}

template <Name N>
Tensor elu_family(Form op, T input, double alpha, double scale, double inner) {
  return unit<N>(op, kElu, kEluSlope, input,
                 [=](T dy, T x) {
                   // Limited: where it is not taken, an infinite power would make its slope NaN.
                   const Tensor power = exp(mul(clamp_max(x, zero()), num(inner)));
                   const Tensor below = mul(power, num(alpha * scale * inner));
                   return mul(dy, where(gt(x, zero()), num(scale), below));
                 },
                 {alpha, scale, inner});
}

Tensor hard_limit(Form op, T input, double low, double high) {
  check_not_bool(input, "Bool inputs not supported for hardtanh");
  check_bounds(low, high, input.dtype());
  return unit<"HardtanhBackward0">(
      op, kHardtanh, kHardtanhSlope, input,
      [=](T dy, T x) { return keep_where(logical_and(gt(x, num(low)), lt(x, num(high))), dy); },
      {low, high});
}

Tensor gelu_slope(T x) {
  const Tensor cdf = mul(erfc(mul(x, num(-M_SQRT1_2))), num(0.5));
  const Tensor density = mul(exp(mul(mul(x, x), num(-0.5))), num(0.5 * M_2_SQRTPI * M_SQRT1_2));
  return add(cdf, mul(x, density));
}

Tensor gelu_tanh_slope(T x) {
  constexpr double a = M_2_SQRTPI * M_SQRT1_2, b = 0.044715;
  const Tensor square = mul(x, x);
  const Tensor t = tanh(mul(mul(x, one_plus(mul(square, num(b)))), num(a)));
  const Tensor inner_slope = mul(one_plus(mul(square, num(3 * b))), num(a));
  return mul(add(one_plus(t), mul(mul(x, one_minus(mul(t, t))), inner_slope)), num(0.5));
}

Tensor gelu_tanh_gradient(T dy, T x) {
  return fused(kGeluTanhSlope, {dy, x}, {}, [&] { return mul(dy, gelu_tanh_slope(x)); });
}

}  // namespace

struct GeluTanhBackward {
  Saved x;
  std::optional<uint32_t> version;  // that was saved; none where hooks keep the value
};

}  // namespace flambeau::ops

namespace flambeau {

// The product that makes its gradient may do its part.
template <> class NodeOf<ops::GeluTanhBackward> final : public GeluNode {
 public:
  explicit NodeOf(ops::GeluTanhBackward&& f) : f_(std::move(f)) {}
  const char* name() const override { return "GeluBackward0"; }
  Tensors apply(TensorsView dy) override {
    if (!f_) fail_freed(name());
    return {ops::gelu_tanh_gradient(dy[0], f_->x)};
  }
  void release_saved() override { f_.reset(); }
  Tensor input() const override {
    const bool at_hand = f_ && f_->version == f_->x.unchecked().version();
    return at_hand ? f_->x.get() : Tensor();
  }

 private:
  std::optional<ops::GeluTanhBackward> f_;
};

}  // namespace flambeau

namespace flambeau::ops {

Tensor relu_gradient(T dy, T y) {
  return fused(kReluSlope, {dy, y}, {}, [&] { return drop_where(le(y, zero()), dy); });
}

Tensor relu(T input, Into into) {
  check_not_bool(input, "Boolean inputs not supported for relu");
  return from_result<"ReluBackward0">(
      op::relu.to(into), kRelu, input,
      [](T dy, T y) {
        const bool pass = !modes.grad && !dy.device().is_cpu();
        Masks* const others = pass ? masks() : nullptr;
        return others && others->leave(dy, y) ? dy : relu_gradient(dy, y);
      },
      {}, Domain::any);
}

Tensor leaky_relu(T input, double negative_slope, Into into) {
  return unit<"LeakyReluBackward0">(
      op::leaky_relu.to(into), kLeakyRelu, kLeakyReluSlope, input,
      [=](T dy, T x) { return where(gt(x, zero()), dy, mul(dy, num(negative_slope))); },
      {negative_slope});
}

Tensor elu(T input, double alpha, Into into) {
  return elu_family<"EluBackward0">(op::elu.to(into), input, alpha, 1, 1);
}

Tensor selu(T input, Into into) {
  return elu_family<"EluBackward0">(op::selu.to(into), input, 1.6732632423543772848,
                                    1.0507009873554804934, 1);
}

Tensor celu(T input, double alpha, Into into) {
  check(alpha != 0, Code::invalid_argument, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu_family<"CeluBackward0">(op::celu.to(into), input, alpha, 1, 1 / alpha);
}

Tensor gelu(T input, int32_t approximate, Into into) {
  if (approximate != FLAM_GELU_TANH) {
    return unit<"GeluBackward0">(op::gelu.to(into), kGelu, kGeluSlope, input,
                                 [](T dy, T x) { return mul(dy, gelu_slope(x)); });
  }
  Call c{op::gelu.to(into), {input}};
  GeluTanhBackward gradient{c.save(c[0]), {}};  // before an in-place form overwrites the operand
  if (!modes.saved_hooks) gradient.version = c[0].version();
  return c.track(c.map(kGeluTanh, {c[0]}, {}), std::move(gradient));
}

Tensor silu(T input, Into into) {
  return unit<"SiluBackward0">(op::silu.to(into), kSilu, kSiluSlope, input, [](T dy, T x) {
    const Tensor s = sigmoid(x);
    return mul(dy, mul(s, one_plus(mul(x, one_minus(s)))));
  });
}

Tensor mish(T input, Into into) {
  return unit<"MishBackward0">(op::mish.to(into), kMish, kMishSlope, input, [](T dy, T x) {
    const Tensor t = tanh(softplus(x, 1, 20));
    return mul(dy, add(t, mul(mul(x, one_minus(mul(t, t))), sigmoid(x))));
  });
}

Tensor softplus(T input, double beta, double threshold, Into into) {
  return unit<"SoftplusBackward0">(op::softplus.to(into), kSoftplus, kSoftplusSlope, input,
                                   [=](T dy, T x) {
                                     const Tensor z = mul(x, num(beta));
                                     return where(gt(z, num(threshold)), dy, mul(dy, sigmoid(z)));
                                   },
                                   {beta, threshold});
}

Tensor logsigmoid(T input, Into into) {
  return unit<"LogSigmoidBackward0">(op::logsigmoid.to(into), kLogsigmoid, kLogsigmoidSlope, input,
                                     [](T dy, T x) { return mul(dy, sigmoid(neg(x))); });
}

Tensor relu6(T input, Into into) { return hard_limit(op::relu6.to(into), input, 0, 6); }

Tensor hardtanh(T input, double min_val, double max_val, Into into) {
  check(min_val <= max_val, Code::invalid_argument, "min_val cannot be greater than max_val, got ",
        min_val, " and ", max_val);
  return hard_limit(op::hardtanh.to(into), input, min_val, max_val);
}

Tensor hardsigmoid(T input, Into into) {
  return unit<"HardsigmoidBackward0">(
      op::hardsigmoid.to(into), kHardsigmoid, kHardsigmoidSlope, input,
      [](T dy, T x) { return keep_where(lt(abs(x), num(int64_t{3})), mul(dy, num(1.0 / 6))); });
}

Tensor hardswish(T input, Into into) {
  return unit<"HardswishBackward0">(
      op::hardswish.to(into), kHardswish, kHardswishSlope, input, [](T dy, T x) {
        const Tensor ramp = add(mul(x, num(1.0 / 3)), num(0.5));
        const Tensor slope = where(ge(abs(x), num(int64_t{3})), gt(x, zero()), ramp);
        return mul(dy, slope);
      });
}

Tensor threshold(T input, double threshold, double value, Into into) {
  check_not_bool(input, "\"threshold\" not implemented for 'bool'");
  check_fits(threshold, input.dtype());
  check_fits(value, input.dtype());
  return unit<"ThresholdBackward0">(
      op::threshold.to(into), kThreshold, kThresholdSlope, input,
      [=](T dy, T x) { return drop_where(le(x, num(threshold)), dy); }, {threshold, value});
}

Tensor softsign(T input) {
  check_not_bool(input, "\"softsign\" not implemented for 'bool'");
  return from_input<"DivBackward0">(op::softsign, kSoftsign, input, [](T dy, T x) {
    return fused(kSoftsignSlope, {dy, x}, {}, [&] {
      const Tensor size = one_plus(abs(x));
      return div(dy, mul(size, size), FLAM_ROUNDING_UNSPECIFIED);
    });
  });
}

Tensor tanhshrink(T input) {
  check_not_bool(input, "tanhshrink is not supported for bool");
  return from_input<"TanhshrinkBackward0">(op::tanhshrink, kTanhshrink, input, [](T dy, T x) {
    return fused(kTanhshrinkSlope, {dy, x}, {}, [&] {
      const Tensor t = tanh(x);
      return mul(dy, mul(t, t));
    });
  });
}

}  // namespace flambeau::ops
