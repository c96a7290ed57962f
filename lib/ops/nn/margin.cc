// Losses of margins and similarities, composed of elementwise ops.
#include <cmath>

#include "ops/nn/loss_reduction.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

Tensor zero() { return num(int64_t{0}); }

void check_same_shape(const char* op, T input, T target) {
  check(std::equal(input.sizes().begin(), input.sizes().end(), target.sizes().begin(),
                   target.sizes().end()),
        Code::shape, op, ": inconsistent target size: ", ShapeText{target.sizes()},
        " for input of size: ", ShapeText{input.sizes()});
}

// [n, C] of [n, C], [C] or one number.
Tensor as_rows(const char* op, T input) {
  check(input.dim() <= 2 && (input.dim() == 0 || input.size(-1) > 0), Code::shape, op,
        ": Expected non-empty vector or matrix with optional 0-dim batch size, but got: ",
        ShapeText{input.sizes()});
  return input.dim() < 2 ? reshape(input, Dims{1, input.numel()}) : input;
}

}  // namespace

Tensor margin_ranking_loss(T input1, T input2, T target, double margin, int32_t reduction) {
  check_reduction(op::margin_ranking_loss, reduction);
  check(
      input1.dim() == input2.dim() && input1.dim() == target.dim(), Code::shape,
      "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: ",
      ShapeText{input1.sizes()}, ", input2: ", ShapeText{input2.sizes()},
      ", target: ", ShapeText{target.sizes()});
  const Call c{op::margin_ranking_loss, {input1, input2, target}};
  const Tensor apart = mul(neg(c[2]), sub(c[0], c[1]));
  return reduced(clamp_min(add(apart, num(margin)), zero()), reduction);
}

Tensor hinge_embedding_loss(T input, T target, double margin, int32_t reduction) {
  check_reduction(op::hinge_embedding_loss, reduction);
  const Call c{op::hinge_embedding_loss, {input, target}};
  const Tensor below = clamp_min(rsub(c[0], num(margin)), zero());
  const Tensor apart = where(ne(c[1], num(int64_t{1})), below, zero());
  const Tensor alike = where(ne(c[1], num(int64_t{-1})), c[0], zero());
  return reduced(add(apart, alike), reduction);
}

Tensor cosine_embedding_loss(T input1, T input2, T target, double margin, int32_t reduction) {
  const Op& op = op::cosine_embedding_loss;
  check_reduction(op, reduction);
  check(target.dim() <= 1, Code::shape,
        "0D or 1D target tensor expected, multi-target not "
        "supported");
  check(input1.dim() == target.dim() + 1 && input2.dim() == target.dim() + 1, Code::shape, op, ": ",
        target.dim(), "D target tensor expects ", target.dim() + 1,
        "D input tensors, but found inputs with sizes ", ShapeText{input1.sizes()}, " and ",
        ShapeText{input2.sizes()}, ".");
  const Call c{op, {input1, input2, target}};
  const int64_t dim = -1;
  const DimsView over(&dim, 1);
  const double eps = 1e-12;
  const Tensor dots = sum(mul(c[0], c[1]), over),
               squares1 = add(sum(mul(c[0], c[0]), over), num(eps)),
               squares2 = add(sum(mul(c[1], c[1]), over), num(eps));
  const Tensor cosine = div(dots, sqrt(mul(squares1, squares2)));
  const Tensor alike = where(eq(c[2], num(int64_t{1})), one_minus(cosine), zero());
  const Tensor apart =
      where(eq(c[2], num(int64_t{-1})), clamp_min(sub(cosine, num(margin)), zero()), zero());
  return reduced(add(alike, apart), reduction);
}

Tensor triplet_margin_loss(T anchor, T positive, T negative, double margin, double p, double eps,
                           bool swap, int32_t reduction) {
  check_reduction(op::triplet_margin_loss, reduction);
  check(margin > 0, Code::invalid_argument,
        "triplet_margin_loss: expected margin to be greater than 0, got ", margin);
  check(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(), Code::shape,
        "The anchor, positive, and negative tensors are expected to have the same number of "
        "dimensions, but got: anchor ",
        anchor.dim(), "D, positive ", positive.dim(), "D, and negative ", negative.dim(),
        "D inputs");
  const Call c{op::triplet_margin_loss, {anchor, positive, negative}};
  const Tensor near = pairwise_distance(c[0], c[1], p, eps);
  Tensor far = pairwise_distance(c[0], c[2], p, eps);
  if (swap) far = minimum(far, pairwise_distance(c[1], c[2], p, eps));
  return reduced(clamp_min(add(sub(near, far), num(margin)), zero()), reduction);
}

Tensor soft_margin_loss(T input, T target, int32_t reduction) {
  check_reduction(op::soft_margin_loss, reduction);
  check_same_shape(op::soft_margin_loss, input, target);
  const Call c{op::soft_margin_loss, {input, target}};
  return reduced(log1p(exp(mul(neg(c[1]), c[0]))), reduction);
}

Tensor multi_margin_loss(T input, T target, int64_t p, double margin, T weight, int32_t reduction) {
  const Op& op = op::multi_margin_loss;
  check_reduction(op, reduction);
  check(p == 1 || p == 2, Code::invalid_argument, "only p == 1 and p == 2 supported");
  const Tensor rows = as_rows(op, input);
  const int64_t n = rows.size(0), classes = rows.size(1);
  check(target.dim() <= 1 && target.numel() == n, Code::shape, op,
        ": inconsistent target size: the target tensor should be 1-D with size equal to the number "
        "of input's rows. Expected target size [",
        n, "], but got ", ShapeText{target.sizes()});
  check(!weight || (weight.dim() <= 1 && weight.numel() == classes), Code::shape, op,
        ": inconsistent weight size, expected ", classes, " but got ", weight);
  const Call c{op, {rows, target, weight}};
  const Tensor column = reshape(target, Dims{n, 1});
  Tensor apart = clamp_min(add(sub(c[0], gather(c[0], 1, column)), num(margin)), zero());
  if (p == 2) apart = mul(apart, apart);
  if (weight)
    apart = mul(apart, reshape(index_select(c[2], 0, reshape(target, Dims{n})), Dims{n, 1}));
  const int64_t last = 1;
  const Tensor others = scatter(apart, 1, column, num(0.0));
  const Tensor losses = div(sum(others, {&last, 1}), num(classes));
  return reduced(target.dim() == 0 ? reshape(losses, Dims{}) : losses, reduction);
}

Tensor multilabel_margin_loss(T input, T target, int32_t reduction) {
  const Op& op = op::multilabel_margin_loss;
  check_reduction(op, reduction);
  const Tensor x = as_rows(op, input);
  check_same_shape(op, input, target);
  const Tensor t = as_rows(op, target);
  const int64_t n = x.size(0), classes = x.size(1);
  const Call c{op, {x, t}};
  Tensor counts, is_target, at;
  {
    GradMode no_grad(false);
    counts = eq(cumsum(to_dtype(lt(t, zero()), Dtype::i64), 1), zero());  // before the first -1
    at = where(counts, t, zero());
    const Tensor marks =
        scatter_add(zeros(x.sizes(), Dtype::i64, x.device()), 1, at, to_dtype(counts, Dtype::i64));
    is_target = gt(marks, zero());
  }
  // [n, targets, classes]
  const Tensor own = unsqueeze(gather(c[0], 1, at), 2), all = unsqueeze(c[0], 1);
  const Tensor apart = clamp_min(one_minus(sub(own, all)), zero());
  const Tensor pairs = logical_and(unsqueeze(counts, 2), logical_not(unsqueeze(is_target, 1)));
  const Dims inner{1, 2};
  const Tensor losses = div(sum(keep_where(pairs, apart), inner), num(classes));
  return reduced(input.dim() < 2 ? reshape(losses, Dims{}) : reshape(losses, Dims{n}), reduction);
}

Tensor multilabel_soft_margin_loss(T input, T target, T weight, int32_t reduction) {
  check_reduction(op::multilabel_soft_margin_loss, reduction);
  const Call c{op::multilabel_soft_margin_loss, {input, target, weight}};
  Tensor losses =
      neg(add(mul(c[1], logsigmoid(c[0])), mul(one_minus(c[1]), logsigmoid(neg(c[0])))));
  if (weight) losses = mul(losses, c[2]);
  const int64_t last = -1;
  return reduced(mean(losses, {&last, 1}), reduction);
}

Tensor poisson_nll_loss(T input, T target, bool log_input, bool full, double eps,
                        int32_t reduction) {
  check_reduction(op::poisson_nll_loss, reduction);
  const Call c{op::poisson_nll_loss, {input, target}};
  const Tensor &x = c[0], &t = c[1];
  Tensor losses = log_input ? sub(exp(x), mul(t, x)) : sub(x, mul(t, log(add(x, num(eps)))));
  if (full) {
    const Tensor above = gt(t, num(int64_t{1})), safe = where(above, t, num(int64_t{1}));
    const Tensor stirling =
        add(sub(mul(safe, log(safe)), safe), mul(log(mul(safe, num(2 * M_PI))), num(0.5)));
    losses = add(losses, keep_where(above, stirling));
  }
  return reduced(losses, reduction);
}

Tensor gaussian_nll_loss(T input, T target, T var, bool full, double eps, int32_t reduction) {
  const Op& op = op::gaussian_nll_loss;
  check_reduction(op, reduction);
  const Call c{op, {input, target, var}};
  Tensor v = c[2];
  const bool same =
      std::equal(v.sizes().begin(), v.sizes().end(), input.sizes().begin(), input.sizes().end());
  if (!same && v.dim() + 1 == input.dim()) v = unsqueeze(v, -1);
  check(broadcasts_to(v.sizes(), input.sizes()), Code::shape, "var is of incorrect size: ", var,
        " for input ", input);
  {
    GradMode no_grad(false);
    if (v.device().is_cpu() && v.numel() > 0) {
      check(is_true(ge(amin(v), zero())), Code::invalid_argument, "var has negative entry/entries");
    }
  }
  // The least variance carries the gradient of v itself, as if it had not been raised.
  Tensor raise;
  {
    GradMode no_grad(false);
    raise = sub(clamp_min(v, num(eps)), v);
  }
  v = add(v, raise);
  const Tensor apart = sub(c[0], c[1]);
  Tensor losses = mul(add(log(v), div(mul(apart, apart), v)), num(0.5));
  if (full) losses = add(losses, num(0.5 * std::log(2 * M_PI)));
  return reduced(losses, reduction);
}

}  // namespace flambeau::ops
