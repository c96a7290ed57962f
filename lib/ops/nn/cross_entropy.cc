// Cross entropy of classes. Class indices take one fused row kernel each way, which keeps one
// number per row; probabilities are ops on the logarithm of the softmax.
#include "ops/nn/cross_entropy.h"

#include <algorithm>
#include <optional>

#include "graph/root_node.h"
#include "ops/nn/rows.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

// [n, ...] class indices beside [n, C, ...]: which element of a row is the target.
Tensor at_target(const Tensor& target, int64_t classes, int64_t dim, int64_t ndim) {
  Dims along(size_t(ndim), 1);
  along[size_t(dim)] = classes;
  const Tensor all =
      arange(num(int64_t{0}), num(classes), num(int64_t{1}), Dtype::i64, target.device());
  return eq(reshape(all, along), unsqueeze(target, dim));
}

// (1 - s) w[t] (p - hit) + s / C (p sum(w) - w), times g, where the target counts.
Tensor differentiable_slope(const Tensor& g, const Tensor& in, const Tensor& target,
                            const Tensor& weight, const ce::Options& o) {
  const Tensor p = softmax(in, o.dim), counted = unsqueeze(ne(target, num(o.ignore_index)), o.dim);
  const int64_t classes = in.size(o.dim);
  const Tensor hit = at_target(target, classes, o.dim, in.dim());
  Tensor w = num(1.0), sum_w = num(double(classes)), own = w;
  if (weight) {
    Dims along(size_t(in.dim()), 1);
    along[size_t(o.dim)] = classes;
    w = reshape(weight, along);
    sum_w = sum(w);
    own = sum(keep_where(hit, w), {&o.dim, 1}, true);
  }
  Tensor dx = mul(mul(sub(p, to_dtype(hit, p.dtype())), own), num(1 - o.smoothing));
  if (o.smoothing != 0)
    dx = add(dx, mul(sub(mul(p, sum_w), w), num(o.smoothing / double(classes))));
  return keep_where(counted, mul(dx, g.dim() ? unsqueeze(g, o.dim) : g));
}

}  // namespace

struct CrossEntropyBackward {
  Saved x, target, weight, lse, total_weight, share;  // share: 0-d, what a mean was divided by
  ce::Options o;
  static constexpr auto name = "NllLossBackward0";

  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x;
    const Tensor g = dy ? to_dtype(dy, lse.unchecked().dtype()) : dy;
    const Tensor divisor = share.defined() ? share.get() : Tensor();
    const Tensor w = weight.defined() ? weight.get() : Tensor();
    const Tensor total = total_weight.defined() ? total_weight.get() : Tensor();
    return {ce::slope(g, in, target, w, lse, total, o, divisor)};
  }
};

}  // namespace flambeau::ops

namespace flambeau {

// Passes of training begin here.
template <> class NodeOf<ops::CrossEntropyBackward> final : public RootNode {
 public:
  explicit NodeOf(ops::CrossEntropyBackward&& f) : f_(std::move(f)) {}
  const char* name() const override { return ops::CrossEntropyBackward::name; }
  Tensors apply(TensorsView dy) override {
    if (!f_) fail_freed(name());
    return (*f_)(dy[0]);
  }
  void release_saved() override { f_.reset(); }

 private:
  std::optional<ops::CrossEntropyBackward> f_;
};

}  // namespace flambeau

namespace flambeau::ops {

namespace {

struct Range {
  double least, greatest;
};
// Of indices on the cpu, which can be read without waiting.
std::optional<Range> range_of(const Tensor& target) {
  if (!target.device().is_cpu() || target.numel() == 0) return std::nullopt;
  return Range{read_number(amin(target)), read_number(amax(target))};
}

void check_range(std::optional<Range> r, int64_t classes) {
  if (!r) return;
  check(r->least >= 0 && r->greatest < double(std::max<int64_t>(classes, 1)), Code::index,
        "Target ", r->least < 0 ? r->least : r->greatest, " is out of bounds for ", classes,
        " classes.");
}

Tensor summed(Call& c, const Tensor& x, Dtype dtype) {
  Dims all;
  for (int64_t d = 0; d < x.dim(); ++d) all.push_back(d);
  const Tensor y = flambeau::empty({}, dtype, c.device());
  run_fold(c.op(), kSum, x.dtype(), y, x, all);
  return y;
}

// What rows come to: the loss, beside the rows' lse what a mean was divided by.
ce::RowLosses reduced_rows(Call& c, const Tensor& x, const Tensor& total, const ce::Options& o) {
  const GradMode off(false);
  if (o.reduction != FLAM_REDUCTION_NONE && joins_rows(c.device()))
    return ce::of_all_rows(x, c[1], c[2], total, o);
  const Dtype compute = ce::compute_dtype(x.dtype());
  ce::RowLosses made = ce::of_rows(c, x, c[1], c[2], total, o);
  if (o.reduction != FLAM_REDUCTION_NONE) made.loss = summed(c, made.loss, compute);
  if (made.share) {
    made.share = summed(c, made.share, compute);
    made.loss = div(made.loss, made.share);
  }
  made.loss = to_dtype(made.loss, x.dtype());
  return made;
}

Tensor of_indices(const Tensor& input, const Tensor& target, const Tensor& weight, ce::Options o) {
  ce::check_classes(input.sizes(), target, weight, o.dim);
  Call c{op::cross_entropy, {input, target, weight}, Devices::exact};
  const Tensor& x = c[0];
  const Dtype compute = ce::compute_dtype(x.dtype());
  c.convert(1, Dtype::i64);
  c.convert(2, compute);
  const Tensor total = ce::total_weight(c, c[2], o);
  ce::RowLosses made = reduced_rows(c, x, total, o);
  return c.track(std::move(made.loss),
                 CrossEntropyBackward{c.save(x), c.save(c[1]), c.save(c[2]), c.save(made.lse),
                                      c.save(total), c.save(made.share), o});
}

Tensor of_probabilities(const Tensor& input, const Tensor& target, const Tensor& weight,
                        ce::Options o) {
  const Call c{op::cross_entropy, {input, target, weight}};
  const Tensor& x = c[0];
  const Tensor losses =
      ce::of_probability_rows(x, ce::weighted_probabilities(c[1], c[2], o), o.dim);
  if (o.reduction != FLAM_REDUCTION_MEAN) return reduced(losses, o.reduction);
  return div(sum(losses), num(double(x.numel()) / double(x.size(o.dim))));
}

Tensor own_of(const Tensor& x, int64_t dim, const Tensor& at) {
  return squeeze(gather(x, dim, unsqueeze(at, dim)), Dims{dim});
}

// Of targets all of which count: most losses' are, and need no masks.
Tensor nll_of_all(const Call& c, const Tensor& at, int64_t dim, int32_t reduction) {
  const Tensor own = own_of(c[0], dim, at);
  if (!c[2]) return reduced(contiguous(neg(own)), reduction);
  const Tensor w = take(c[2], at), losses = contiguous(neg(mul(own, w)));
  return reduction == FLAM_REDUCTION_MEAN ? div(sum(losses), sum(w)) : reduced(losses, reduction);
}

int64_t class_dim(const char* op, const Tensor& x) {
  check(x.dim() > 0, Code::shape, op, ": input needs a dimension of classes, got ", x);
  return x.dim() == 1 ? 0 : 1;
}

}  // namespace

namespace ce {

void check_smoothing(double label_smoothing) {
  check(label_smoothing >= 0 && label_smoothing <= 1, Code::invalid_argument,
        "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
}

bool are_probabilities(DimsView logits, const Tensor& target) {
  if (!std::ranges::equal(logits, target.sizes())) return false;
  check(is_floating(target.dtype()), Code::dtype,
        "Expected floating point type for target with class probabilities, got ",
        name_of(target.dtype()));
  return true;
}

void check_classes(DimsView logits, const Tensor& target, const Tensor& weight, int64_t dim) {
  const int64_t dims = int64_t(logits.size());
  if (dims > 1 && target.dim() > 0) {
    check(target.sizes()[0] == logits[0], Code::shape, "Expected input batch_size (", logits[0],
          ") to match target batch_size (", target.sizes()[0], ").");
  }
  const char* const wanted_dims =
      dims <= 2   ? "0D or 1D target tensor expected, multi-target not supported"
      : dims == 4 ? "only batches of spatial targets supported (3D tensors)"
                  : "class indices have input's shape without its classes";
  check(target.dim() == dims - 1, Code::shape, wanted_dims,
        "; but got targets of dimension: ", target.dim(), ", target ", target, " for input ",
        ShapeText{logits});
  for (int64_t d = 0, t = 0; d < dims; ++d) {
    if (d == dim) continue;
    const int64_t have = target.sizes()[size_t(t++)], wanted = logits[size_t(d)];
    check(wanted == have, Code::shape, "cross_entropy: Expected target size ", wanted,
          " at dimension ", t - 1, ", got ", have);
  }
  check(target.dtype() == Dtype::i64 || target.dtype() == Dtype::u8, Code::dtype,
        "expected target dtype to be Long or Byte, but got ", name_of(target.dtype()),
        "; target.to(int64)");
  if (!weight) return;
  const int64_t classes = logits[size_t(dim)];
  check(weight.dim() == 1 && weight.sizes()[0] == classes, Code::shape,
        "weight tensor should be defined either for all ", classes,
        " classes or no classes but got weight tensor of shape: ", weight);
}

Tensor total_weight(Call& c, const Tensor& weight, const Options& o) {
  return weight && o.smoothing != 0 ? summed(c, weight, weight.dtype()) : Tensor();
}

RowLosses of_rows(Call& c, const Tensor& x, const Tensor& target, const Tensor& weight,
                  const Tensor& total, const Options& o) {
  const Dtype compute = compute_dtype(x.dtype());
  const auto numbers = [&] { return flambeau::empty(target.sizes(), compute, c.device()); };
  const RowLosses made{numbers(), numbers(),
                       o.reduction == FLAM_REDUCTION_MEAN ? numbers() : Tensor()};
  run_row(op::cross_entropy, kCrossEntropy, x.dtype(), o.dim,
          {out_each(made.loss), out_each(made.lse), out_each(made.share), row(x), each(target),
           shared(weight), shared(total)},
          {double(o.ignore_index), o.smoothing});
  return made;
}

RowLosses of_all_rows(const Tensor& x, const Tensor& target, const Tensor& weight,
                      const Tensor& total, const Options& o) {
  const Dtype compute = compute_dtype(x.dtype());
  const Tensor none;
  const RowLosses made{
      flambeau::empty({}, x.dtype(), x.device()),
      flambeau::empty(target.sizes(), compute, x.device()),
      o.reduction == FLAM_REDUCTION_MEAN ? flambeau::empty({}, compute, x.device()) : none};
  run_row(op::cross_entropy, kCrossEntropy, x.dtype(), o.dim,
          {out_each(none), out_each(made.lse), out_each(none), row(x), each(target), shared(weight),
           shared(total), out_joined(made.loss), out_joined(made.share)},
          {double(o.ignore_index), o.smoothing});
  return made;
}

Tensor slope(const Tensor& g, const Tensor& x, const Tensor& target, const Tensor& weight,
             const Tensor& lse, const Tensor& total, const Options& o, const Tensor& divisor) {
  if (modes.grad) return differentiable_slope(divisor ? div(g, divisor) : g, x, target, weight, o);
  const Tensor dx = flambeau::empty(x.sizes(), x.dtype(), x.device());
  run_row(op::cross_entropy, kCrossEntropyBackward, x.dtype(), o.dim,
          {out_row(dx), each(g), row(x), each(target), each(lse), shared(weight), shared(total),
           shared(divisor)},
          {double(o.ignore_index), o.smoothing});
  return dx;
}

Tensor weighted_probabilities(const Tensor& target, const Tensor& weight, const Options& o) {
  const int64_t classes = target.size(o.dim);
  Tensor t = target;
  if (o.smoothing != 0) t = add(mul(t, num(1 - o.smoothing)), num(o.smoothing / double(classes)));
  if (!weight) return t;
  Dims along(size_t(target.dim()), 1);
  along[size_t(o.dim)] = classes;
  return mul(t, reshape(weight, along));
}

Tensor of_probability_rows(const Tensor& x, const Tensor& weighted, int64_t dim) {
  return neg(sum(mul(log_softmax(x, dim), weighted), {&dim, 1}));
}

Tensor probability_slope(const Tensor& g, const Tensor& x, const Tensor& weighted, int64_t dim) {
  const Tensor whole = sum(weighted, {&dim, 1}, true);
  const Tensor dx = sub(mul(softmax(x, dim), whole), weighted);
  return mul(dx, g.dim() ? unsqueeze(g, dim) : g);
}

}  // namespace ce

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                     int64_t ignore_index, int32_t reduction, double label_smoothing) {
  check_reduction(op::cross_entropy, reduction);
  ce::check_smoothing(label_smoothing);
  const ce::Options o{class_dim(op::cross_entropy, input), ignore_index, reduction,
                      label_smoothing};
  const bool shares = ce::are_probabilities(input.sizes(), target);
  check(!shares || ignore_index < 0, Code::invalid_argument,
        "ignore_index is not supported for floating point target, got ", ignore_index);
  return shares ? of_probabilities(input, target, weight, o) : of_indices(input, target, weight, o);
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                int64_t ignore_index, int32_t reduction) {
  check_reduction(op::nll_loss, reduction);
  const Call c{op::nll_loss, {input, target, weight}, Devices::exact};
  if (weight) {
    check(c[2].dtype() == c[0].dtype(), Code::dtype, "nll_loss: expected scalar type ",
          name_of(c[0].dtype()), " but found ", name_of(c[2].dtype()), " for the weight");
  }
  const int64_t dim = class_dim(op::nll_loss, input);
  ce::check_classes(input.sizes(), target, weight, dim);
  const int64_t classes = input.size(dim);
  const Tensor t = to_dtype(target, Dtype::i64);
  const std::optional<Range> range = range_of(t);
  const double ignored = double(ignore_index);
  if (range && classes > 0 && (ignored < range->least || ignored > range->greatest)) {
    check_range(range, classes);
    return nll_of_all(c, t, dim, reduction);
  }
  const Tensor counts = ne(t, num(ignore_index)), at = keep_where(counts, t);
  check_range(range_of(at), classes);
  Tensor own = classes == 0 ? sum(c[0], {&dim, 1}) : own_of(c[0], dim, at);
  Tensor share = to_dtype(counts, own.dtype());
  if (weight && classes > 0) {
    const Tensor w = take(c[2], at);
    own = mul(own, w);
    share = mul(share, w);
  }
  const Tensor losses = contiguous(neg(keep_where(counts, own)));
  return reduction == FLAM_REDUCTION_MEAN ? div(sum(losses), sum(share))
                                          : reduced(losses, reduction);
}

}  // namespace flambeau::ops
