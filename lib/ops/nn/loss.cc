// Elementwise losses: one kernel forwards and a fold, one kernel backwards.
#include "ops/nn/loss.h"

#include "base/warning.h"
#include "ops/nn/loss_reduction.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

// In place of dt's formula where dt is -dx.
struct Opposite {};

// Two formulas, of dx and of dt, on dy that already holds the factor of a mean.
template <Name N, class Dx, class Dt> struct LossBackward {
  Saved x, target;
  const Kernel* slope;
  double factor, parameter;
  Dx dx;
  Dt dt;
  static constexpr const char* name = N.text;

  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x, t = target;
    Tensors result{Tensor(), Tensor()};
    constexpr bool kOpposite = std::is_same_v<Dt, Opposite>;
    if (wanted(0) || kOpposite) {
      result[0] =
          fused(*slope, {dy, in, t}, {factor, parameter}, [&] { return dx(scaled(dy), in, t); });
    }
    if constexpr (kOpposite) {
      if (wanted(1)) result[1] = neg(result[0]);
    } else {
      if (wanted(1)) result[1] = dt(scaled(dy), in, t);
    }
    return result;
  }

 private:
  Tensor scaled(const Tensor& dy) const { return factor == 1 ? dy : mul(dy, num(factor)); }
};

struct Distance {
  const Op& op;
  const Kernel &value, &slope;
  double parameter = 0;
};

template <Name N, class Dx, class Dt>
Tensor loss_of(const Distance& form, T input, T target, int32_t reduction, Dx dx, Dt dt) {
  check_reduction(form.op, reduction);
  // torch broadcasts before it promotes: a 0-d operand's dtype counts as any other's.
  const Tensor wide = input.dim() && !target.dim() ? expand(target, Dims(input.dim(), 1)) : target;
  Call c{form.op, {input, wide}};
  c.promote();
  Tensor losses = c.map(form.value, {c[0], c[1]}, {1, form.parameter});
  const double factor = reduction == FLAM_REDUCTION_MEAN ? 1 / double(losses.numel()) : 1;
  LossBackward<N, Dx, Dt> gradient{c.save(c[0]),   c.save(c[1]), &form.slope, factor,
                                   form.parameter, dx,           dt};
  return c.track(fold_losses(c, std::move(losses), reduction), std::move(gradient));
}

// A loss of the distance between input and target: their gradients are opposite.
template <Name N, class Dx>
Tensor distance_loss(const Distance& form, T input, T target, int32_t reduction, Dx slope) {
  auto dx = [slope](T dy, T x, T t) { return mul(dy, slope(sub(x, t))); };
  return loss_of<N>(form, input, target, reduction, dx, Opposite{});
}

// `told`: what is said before the target's size, between the two, and after input's.
void check_same_shape(T input, T target, const char* const (&told)[3]) {
  const bool same = std::equal(input.sizes().begin(), input.sizes().end(), target.sizes().begin(),
                               target.sizes().end());
  check(same, Code::shape, told[0], " (torch.Size(", ShapeText{target.sizes()}, ")) ", told[1],
        " (torch.Size(", ShapeText{input.sizes()}, "))", told[2]);
}

// Sizes that differ broadcast, which is seldom meant: a column beside a row makes a square.
void warn_of_broadcast(T input, T target) {
  const DimsView a = input.sizes(), b = target.sizes();
  if (std::equal(a.begin(), a.end(), b.begin(), b.end())) return;
  warn("Using a target size (torch.Size(", ShapeText{b},
       ")) that is different to the input size (torch.Size(", ShapeText{a},
       ")). This will likely lead to incorrect results due to broadcasting. Please ensure they "
       "have the same size.");
}

void check_probabilities(T p) {
  if (!p.device().is_cpu() || p.numel() == 0) return;
  const GradMode off(false);
  check(is_true(logical_and(ge(amin(p), num(0.0)), le(amax(p), num(1.0)))), Code::invalid_argument,
        "all elements of input should be between 0 and 1; of logits take "
        "binary_cross_entropy_with_logits");
}

}  // namespace

Tensor mse_loss(T input, T target, int32_t reduction) {
  warn_of_broadcast(input, target);
  return distance_loss<"MseLossBackward0">({op::mse_loss, kMse, kMseSlope}, input, target,
                                           reduction, [](T d) { return mul(d, num(2.0)); });
}

Tensor l1_loss(T input, T target, int32_t reduction) {
  warn_of_broadcast(input, target);
  if (!is_floating(input.dtype()) && !is_floating(target.dtype()) &&
      input.dtype() != Dtype::boolean) {
    check_reduction(op::l1_loss, reduction);
    return reduced(abs(sub(input, target)), reduction);
  }
  return distance_loss<"L1LossBackward0">({op::l1_loss, kL1, kL1Slope}, input, target, reduction,
                                          [](T d) { return sign(d); });
}

Tensor smooth_l1_loss(T input, T target, int32_t reduction, double beta) {
  check(beta >= 0, Code::invalid_argument,
        "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return l1_loss(input, target, reduction);
  warn_of_broadcast(input, target);
  return distance_loss<"SmoothL1LossBackward0">(
      {op::smooth_l1_loss, kSmoothL1, kSmoothL1Slope, beta}, input, target, reduction,
      [beta](T d) { return where(ge(abs(d), num(beta)), sign(d), mul(d, num(1 / beta))); });
}

Tensor huber_loss(T input, T target, int32_t reduction, double delta) {
  check(delta > 0, Code::invalid_argument,
        "huber_loss does not support non-positive values for delta.");
  warn_of_broadcast(input, target);
  return distance_loss<"HuberLossBackward0">(
      {op::huber_loss, kHuber, kHuberSlope, delta}, input, target, reduction,
      [delta](T d) { return clamp(d, num(-delta), num(delta)); });
}

Tensor binary_cross_entropy(T input, T target, T weight, int32_t reduction) {
  check_same_shape(input, target,
                   {"Using a target size", "that is different to the input size",
                    " is deprecated. Please ensure they have the same size."});
  check_probabilities(input);
  const int32_t own = weight ? int32_t(FLAM_REDUCTION_NONE) : reduction;
  check_reduction(op::binary_cross_entropy, reduction);
  const Call c{op::binary_cross_entropy, {input, target, weight}};
  const Tensor y = loss_of<"BinaryCrossEntropyBackward0">(
      {op::binary_cross_entropy, kBce, kBceSlope}, c[0], c[1], own,
      [](T dy, T p, T t) {
        return div(mul(dy, sub(p, t)), clamp_min(mul(one_minus(p), p), num(1e-12)));
      },
      [](T dy, T p, T) {
        return mul(dy, sub(clamp_min(log1p(neg(p)), num(-100.0)), clamp_min(log(p), num(-100.0))));
      });
  return weight ? reduced(mul(y, c[2]), reduction) : y;
}

Tensor binary_cross_entropy_with_logits(T input, T target, T weight, int32_t reduction,
                                        T pos_weight) {
  check_same_shape(input, target, {"Target size", "must be the same as input size", ""});
  check_reduction(op::binary_cross_entropy_with_logits, reduction);
  const int32_t own = weight || pos_weight ? int32_t(FLAM_REDUCTION_NONE) : reduction;
  const Call c{op::binary_cross_entropy_with_logits, {input, target, weight, pos_weight}};
  Tensor y;
  if (pos_weight) {
    const Tensor log_weight = one_plus(mul(sub(c[3], num(int64_t{1})), c[1]));
    y = sub(mul(one_minus(c[1]), c[0]), mul(log_weight, logsigmoid(c[0])));
  } else {
    y = loss_of<"BinaryCrossEntropyWithLogitsBackward0">(
        {op::binary_cross_entropy_with_logits, kBceLogits, kBceLogitsSlope}, c[0], c[1], own,
        [](T dy, T x, T t) { return mul(dy, sub(sigmoid(x), t)); },
        [](T dy, T x, T) { return neg(mul(dy, x)); });
  }
  if (weight) y = mul(y, c[2]);
  return own == reduction ? y : reduced(y, reduction);
}

Tensor kl_div(T input, T target, int32_t reduction, bool log_target) {
  const bool batch_mean = reduction == FLAM_REDUCTION_BATCHMEAN;
  if (!batch_mean) check_reduction(op::kl_div, reduction);
  if (reduction == FLAM_REDUCTION_MEAN) {
    warn(
        "reduction: 'mean' divides the total loss by both the batch size and the support size."
        "'batchmean' divides only by the batch size, as the divergence is defined. Pass 'sum' and "
        "divide where the mean over all elements is meant");
  }
  const Call c{op::kl_div, {input, target}};
  const Tensor &x = c[0], &t = c[1];
  Tensor losses;
  if (log_target) {
    losses = mul(exp(t), sub(t, x));
  } else {
    const Tensor positive = where(eq(t, num(int64_t{0})), num(int64_t{1}), t);  // 0 log 0 is 0
    losses = sub(mul(t, log(positive)), mul(t, x));
  }
  if (!batch_mean) return reduced(losses, reduction);
  return x.dim() > 0 ? div(sum(losses), num(x.size(0))) : sum(losses);
}

}  // namespace flambeau::ops
