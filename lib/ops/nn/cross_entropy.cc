// Cross entropy of classes. Class indices take one fused row kernel each way, which keeps one
// number per row; probabilities are ops on the logarithm of the softmax.
#include "ops/nn/loss_reduction.h"
#include "ops/nn/rows.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

struct Options {
  int64_t dim, ignore_index;
  int32_t reduction;
  double smoothing;
};

// [n, ...] class indices beside [n, C, ...]: which element of a row is the target.
Tensor at_target(const Tensor& target, int64_t classes, int64_t dim, int64_t ndim) {
  Dims along(size_t(ndim), 1);
  along[size_t(dim)] = classes;
  const Tensor all =
      arange(num(int64_t{0}), num(classes), num(int64_t{1}), Dtype::i64, target.device());
  return eq(reshape(all, along), unsqueeze(target, dim));
}

struct CrossEntropyBackward {
  Saved x, target, weight, lse, total_weight, share;  // share: 0-d, what a mean was divided by
  Options o;
  static constexpr auto name = "NllLossBackward0";

  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x;
    Tensor g = to_dtype(dy, lse.unchecked().dtype());
    if (share.defined()) g = div(g, share);
    if (modes.grad) return {slope(g, in)};
    const Tensor dx = flambeau::empty(in.sizes(), in.dtype(), in.device());
    const Tensor t = target, row_lse = lse,
                 total = total_weight.defined() ? total_weight.get() : Tensor();
    const Tensor w = weight.defined() ? weight.get() : Tensor();
    run_row(op::cross_entropy, kCrossEntropyBackward, in.dtype(), o.dim,
            {out_row(dx), each(g), row(in), each(t), each(row_lse), shared(w), shared(total)},
            {double(o.ignore_index), o.smoothing});
    return {dx};
  }

 private:
  // (1 - s) w[t] (p - hit) + s / C (p sum(w) - w), times g, where the target counts.
  Tensor slope(const Tensor& g, const Tensor& in) const {
    const Tensor t = target, p = softmax(in, o.dim),
                 counted = unsqueeze(ne(t, num(o.ignore_index)), o.dim);
    const int64_t classes = in.size(o.dim);
    const Tensor hit = at_target(t, classes, o.dim, in.dim());
    Tensor w = num(1.0), sum_w = num(double(classes)), own = w;
    if (weight.defined()) {
      Dims along(size_t(in.dim()), 1);
      along[size_t(o.dim)] = classes;
      w = reshape(weight.get(), along);
      sum_w = sum(w);
      own = sum(keep_where(hit, w), {&o.dim, 1}, true);
    }
    Tensor dx = mul(mul(sub(p, to_dtype(hit, p.dtype())), own), num(1 - o.smoothing));
    if (o.smoothing != 0)
      dx = add(dx, mul(sub(mul(p, sum_w), w), num(o.smoothing / double(classes))));
    return keep_where(counted, mul(dx, g.dim() ? unsqueeze(g, o.dim) : g));
  }
};

Dtype compute_dtype(Dtype d) { return d == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

void check_classes(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t dim) {
  check(target.dtype() == Dtype::i64 || target.dtype() == Dtype::u8, Code::dtype,
        "expected target dtype to be Long or Byte, but got ", name_of(target.dtype()),
        "; target.to(int64)");
  check(target.dim() == x.dim() - 1, Code::shape,
        "cross_entropy: class indices have input's shape without its classes; "
        "got target ",
        target, " for input ", x);
  for (int64_t d = 0, t = 0; d < x.dim(); ++d) {
    if (d == dim) continue;
    if (d == 0 && x.sizes()[0] != target.sizes()[0]) {
      fail(Code::shape, "Expected input batch_size (", x.sizes()[0],
           ") to match target batch_size (", target.sizes()[0], ").");
    }
    const int64_t have = target.sizes()[size_t(t++)];
    check(x.sizes()[size_t(d)] == have, Code::shape, "cross_entropy: size of target at dimension ",
          t - 1, " is ", have, ", of input ", x.sizes()[size_t(d)]);
  }
  if (!weight) return;
  check(weight.dim() == 1 && weight.sizes()[0] == x.size(dim), Code::shape,
        "weight tensor should be defined either for all ", x.size(dim),
        " classes or no classes but got weight tensor of shape: ", weight);
}

// On the cpu, where the indices can be read without waiting.
void check_range(const Tensor& target, int64_t ignore_index, int64_t classes) {
  if (!target.device().is_cpu() || target.numel() == 0) return;
  const Tensor outside = logical_or(lt(target, num(int64_t{0})), ge(target, num(classes)));
  const Tensor wrong = keep_where(logical_and(outside, ne(target, num(ignore_index))), target);
  const double least = read_number(amin(wrong)), greatest = read_number(amax(wrong));
  check(least == 0 && greatest == 0, Code::index, "Target ", least != 0 ? least : greatest,
        " is out of bounds for ", classes, " classes.");
}

Tensor summed(Call& c, const Tensor& x, Dtype dtype) {
  Dims all;
  for (int64_t d = 0; d < x.dim(); ++d) all.push_back(d);
  const Tensor y = flambeau::empty({}, dtype, c.device());
  run_fold(c.op(), kSum, x.dtype(), y, x, all);
  return y;
}

Tensor of_indices(const Tensor& input, const Tensor& target, const Tensor& weight, Options o) {
  check_classes(input, target, weight, o.dim);
  Call c{op::cross_entropy, {input, target, weight}, Devices::exact};
  const Tensor& x = c[0];
  const Dtype compute = compute_dtype(x.dtype());
  c.convert(1, Dtype::i64);
  c.convert(2, compute);
  const Tensor loss = flambeau::empty(c[1].sizes(), compute, c.device());
  const Tensor lse = flambeau::empty(c[1].sizes(), compute, c.device());
  const bool is_mean = o.reduction == FLAM_REDUCTION_MEAN;
  const Tensor shares = is_mean ? flambeau::empty(c[1].sizes(), compute, c.device()) : Tensor();
  const Tensor total = weight && o.smoothing != 0 ? summed(c, c[2], Dtype::f64) : Tensor();
  run_row(op::cross_entropy, kCrossEntropy, x.dtype(), o.dim,
          {out_each(loss), out_each(lse), out_each(shares), row(x), each(c[1]), shared(c[2]),
           shared(total)},
          {double(o.ignore_index), o.smoothing});
  Tensor y = loss, share;
  {
    const GradMode off(false);
    if (o.reduction != FLAM_REDUCTION_NONE) y = summed(c, loss, compute);
    if (is_mean) {
      share = summed(c, shares, compute);
      y = div(y, share);
    }
    y = to_dtype(y, x.dtype());
  }
  return c.track(std::move(y), CrossEntropyBackward{c.save(x), c.save(c[1]), c.save(c[2]),
                                                    c.save(lse), c.save(total), c.save(share), o});
}

Tensor of_probabilities(const Tensor& input, const Tensor& target, const Tensor& weight,
                        Options o) {
  const Call c{op::cross_entropy, {input, target, weight}};
  const Tensor& x = c[0];
  const int64_t classes = x.size(o.dim);
  Tensor t = c[1];
  if (o.smoothing != 0) t = add(mul(t, num(1 - o.smoothing)), num(o.smoothing / double(classes)));
  if (weight) {
    Dims along(x.sizes().size(), 1);
    along[size_t(o.dim)] = classes;
    t = mul(t, reshape(c[2], along));
  }
  const Tensor losses = neg(sum(mul(log_softmax(x, o.dim), t), {&o.dim, 1}));
  if (o.reduction != FLAM_REDUCTION_MEAN) return reduced(losses, o.reduction);
  return div(sum(losses), num(double(x.numel()) / double(classes)));
}

int64_t class_dim(const char* op, const Tensor& x) {
  check(x.dim() > 0, Code::shape, op, ": input needs a dimension of classes, got ", x);
  return x.dim() == 1 ? 0 : 1;
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                     int64_t ignore_index, int32_t reduction, double label_smoothing) {
  check_reduction(op::cross_entropy, reduction);
  check(label_smoothing >= 0 && label_smoothing <= 1, Code::invalid_argument,
        "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  const Options o{class_dim(op::cross_entropy, input), ignore_index, reduction, label_smoothing};
  const bool same_shape = std::equal(input.sizes().begin(), input.sizes().end(),
                                     target.sizes().begin(), target.sizes().end());
  return same_shape && is_floating(target.dtype()) ? of_probabilities(input, target, weight, o)
                                                   : of_indices(input, target, weight, o);
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                int64_t ignore_index, int32_t reduction) {
  check_reduction(op::nll_loss, reduction);
  const Call c{op::nll_loss, {input, target, weight}, Devices::exact};
  const int64_t dim = class_dim(op::nll_loss, input);
  check_classes(input, target, weight, dim);
  const int64_t classes = input.size(dim);
  const Tensor t = to_dtype(target, Dtype::i64);
  check_range(t, ignore_index, classes);
  const Tensor counts = unsqueeze(ne(t, num(ignore_index)), dim);
  const Tensor hit = logical_and(at_target(t, classes, dim, input.dim()), counts);
  Tensor x = c[0], share = to_dtype(hit, x.dtype());
  if (weight) {
    Dims along(size_t(input.dim()), 1);
    along[size_t(dim)] = classes;
    const Tensor w = reshape(c[2], along);
    x = mul(x, w);
    share = mul(share, w);
  }
  const Tensor losses = neg(sum(keep_where(hit, x), {&dim, 1}));
  return reduction == FLAM_REDUCTION_MEAN ? div(sum(losses), sum(share))
                                          : reduced(losses, reduction);
}

}  // namespace flambeau::ops
