// Batch norm: a scale and a shift per channel, found from the batch in f32 (f64 for f64) or from
// running statistics; its gradient is two sums per channel and one elementwise pass. GPUs have
// kernels for each way (channels.h); the host composes it, by planes where they lie dense.
#include <algorithm>

#include "base/error.h"
#include "graph/masked_gradient.h"
#include "kernels/fold/fold.h"
#include "ops/elementwise/relu_gradient.h"
#include "ops/formula.h"
#include "ops/nn/channels.h"
#include "ops/nn/norm.h"
#include "ops/nn/normalized.h"
#include "ops/nn/planes.h"

namespace flambeau::ops {

namespace {

// [c] as [1, c, 1, ...].
Tensor as_channel(const Tensor& t, int64_t ndim) {
  if (!t) return t;
  Dims sizes(size_t(ndim), 1);
  sizes[1] = t.numel();
  return reshape(t, sizes);
}

Dims all_but_channel(int64_t ndim) {
  Dims dims;
  for (int64_t d = 0; d < ndim; ++d) {
    if (d != 1) dims.push_back(d);
  }
  return dims;
}

struct BatchNormBackward {
  Saved x, weight;
  Saved mean, rstd;  // [1, c, 1, ...], of the batch or running
  bool training;
  Dtype bias;
  static constexpr auto name = "NativeBatchNormBackward0";

  Tensors operator()(const Tensor& given) const {
    const Tensor in = x;
    const Masks* const pass = given.device().is_cpu() ? nullptr : masks();
    const Tensor y = pass ? pass->mask() : Tensor();
    if (!modes.grad && given.dtype() == in.dtype() && has_kernel(in))
      return by_channel(given, in, y);
    const Tensor dy = y ? relu_gradient(given, y) : given;
    if (modes.grad) return by_ops(dy);
    return has_planes(in) ? of_planes(contiguous(dy), in) : by_ops(dy);
  }

  bool has_kernel(const Tensor& in) const {
    return runs_by_channel(in, {&weight.unchecked(), &mean.unchecked(), &rstd.unchecked()});
  }
  MaskedNode::Takes takes_mask(const Tensor& dy) const {
    const bool drops = has_kernel(x.unchecked()) && reads_slopes(dy, x.unchecked());
    return drops ? MaskedNode::Takes::drops : MaskedNode::Takes::no;
  }

  // `y` masks dy, where it is defined.
  Tensors by_channel(const Tensor& dy, const Tensor& in, const Tensor& y) const {
    const Dims flat{in.size(1)};
    const Tensor w = weight;
    Tensors g(3);
    if (wanted(0)) g[0] = flambeau::empty_like(in);
    if (wanted(1)) g[1] = flambeau::empty(flat, w.dtype(), in.device());
    if (wanted(2)) g[2] = flambeau::empty(flat, bias, in.device());
    norm_backward_by_channel({g[0], g[1], g[2]}, dy, y, in, w, mean, rstd, training);
    return g;
  }

  // Two sums per plane, and one pass over it.
  Tensors of_planes(const Tensor& dy, const Tensor& in) const {
    const int64_t n = in.size(0), channels = in.size(1);
    const Dims flat{channels};
    const Tensor mu = per_plane(mean, n), r = reshape(rstd, flat);
    const PlaneSums of = plane_sums(op::batch_norm, dy, in, mu);
    const int64_t first = 0;
    const Tensor total = sum(of.sum, {&first, 1}), dot = sum(of.dot, {&first, 1});
    Tensors g(3);
    if (wanted(1)) g[1] = mul(dot, r);
    if (wanted(2)) g[2] = total;
    if (!wanted(0)) return g;
    const Tensor scale = weight.defined() ? mul(r, to_dtype(weight.get(), r.dtype())) : r;
    if (!training) {
      g[0] = to_dtype(mul(dy, as_channel(scale, dy.dim())), dy.dtype());
      return g;
    }
    const Tensor share = mul(scale, num(double(channels) / double(in.numel())));
    g[0] = plane_gradient(op::batch_norm, dy, in, mu, per_plane(scale, n),
                          per_plane(mul(share, total), n),
                          per_plane(mul(mul(share, dot), mul(r, r)), n));
    return g;
  }

  Tensors by_ops(const Tensor& dy) const {
    const Tensor input = x, w = as_channel(weight, dy.dim());
    const Dims over = all_but_channel(dy.dim());
    // Statistics as functions of x, so that the gradient can be differentiated again.
    Tensor mu = mean, r = rstd;
    if (training && modes.grad && requires_grad(input)) {
      mu = flambeau::ops::mean(input, over, true);
      const Tensor centred = sub(input, mu);
      const Tensor variance = flambeau::ops::mean(mul(centred, centred), over, true);
      r = rsqrt(add(variance, num(eps)));
    }
    const Tensor xhat = mul(sub(input, mu), r);
    const Tensor dy_sum = sum(dy, over, true), dy_xhat = sum(mul(dy, xhat), over, true);
    Tensors g(3);
    if (wanted(1)) g[1] = reshape(dy_xhat, Dims{dy.size(1)});
    if (wanted(2)) g[2] = reshape(dy_sum, Dims{dy.size(1)});
    if (!wanted(0)) return g;
    const Tensor scale = w ? mul(r, w) : r;
    if (!training) {
      g[0] = mul(dy, scale);
      return g;
    }
    const double share = 1.0 / double(dy.numel() / std::max<int64_t>(dy.size(1), 1));
    const Tensor from_mean = mul(dy_sum, num(share)),
                 from_var = mul(mul(xhat, dy_xhat), num(share));
    g[0] = mul(sub(sub(dy, from_mean), from_var), scale);
    return g;
  }
  double eps;
};

}  // namespace

}  // namespace flambeau::ops

namespace flambeau {

template <> class NodeOf<ops::BatchNormBackward> final
    : public MaskedNodeOf<ops::BatchNormBackward> {
 public:
  using MaskedNodeOf::MaskedNodeOf;
};

}  // namespace flambeau

namespace flambeau::ops {

namespace {

void check_channel(const char* what, const Tensor& t, const Tensor& x) {
  check(!t || (t.dim() == 1 && t.numel() == x.size(1)), Code::shape, "batch_norm: ", what,
        " should contain ", x.size(1), " elements, got ", t, " for input ", x);
  check(!t || t.device() == x.device(), Code::device_mismatch,
        "Expected all tensors to be on the same device: batch_norm(input: ", x, ", ", what, ": ", t,
        "). Move the module to the input's device");
}

// What a running statistic becomes; it is written when nothing can fail any more.
Tensor moved(const Tensor& running, const Tensor& batch, double momentum) {
  if (!running) return running;
  check_writable(running, op::batch_norm, Destination::inplace);
  const Tensor now = reshape(to_dtype(batch, running.dtype()), running.sizes());
  return lerp(running, now, num(momentum));
}

void check_operands(const Tensor& x, const ChannelNorm& norm) {
  check(norm.training ? norm.eps > 0 : norm.eps >= 0, Code::invalid_argument,
        "batch_norm: eps must be ", norm.training ? "positive during training" : "non-negative",
        ", but got ", norm.eps);
  if (x.dim() == 1 && x.numel() == 0) return;
  check(x.dim() >= 2, Code::shape, "batch_norm: expected 2D or higher input (got ", x.dim(),
        "D input)");
  check_channel("running_mean", norm.running_mean, x);
  check_channel("running_var", norm.running_var, x);
  check_channel("weight", norm.weight, x);
  check_channel("bias", norm.bias, x);
  const int64_t per_channel = x.numel() / std::max<int64_t>(x.size(1), 1);
  check(!norm.training || per_channel != 1, Code::shape,
        "Expected more than 1 value per channel when training, got input size ",
        ShapeText{x.sizes()});
  check(norm.training || (norm.running_mean && norm.running_var), Code::invalid_argument,
        "batch_norm: running_mean and running_var must be given outside training");
}

Dims statistics_sizes(const Tensor& x) {
  Dims sizes(size_t(x.dim()), 1);
  sizes[1] = x.size(1);
  return sizes;
}

Tensor normed_by_channel(Call& c, const Tensor& x, const ChannelNorm& norm) {
  const Dtype dtype = statistics_dtype(x.dtype());
  Tensor mean, rstd;
  if (norm.training || c.needs_grad()) {
    mean = flambeau::empty(statistics_sizes(x), dtype, x.device());
    rstd = flambeau::empty(statistics_sizes(x), dtype, x.device());
  }
  for (const Tensor* t : {&norm.running_mean, &norm.running_var, &norm.batches})
    if (norm.training && *t) check_writable(*t, op::batch_norm, Destination::inplace);
  Tensor y = norm_by_channel(x, norm, mean, rstd);
  for (const Tensor* t : {&norm.running_mean, &norm.running_var, &norm.batches})
    if (norm.training && *t) t->writes().add(op::batch_norm);
  const bool has_dtype = norm.bias && norm.bias.dtype() == x.dtype();
  return c.track(std::move(y),
                 BatchNormBackward{c.save(x), c.save(norm.weight), c.save(mean), c.save(rstd),
                                   norm.training, has_dtype ? x.dtype() : dtype, norm.eps});
}

Tensor composed(Call& c, const Tensor& x, const ChannelNorm& norm) {
  const Dtype dtype = statistics_dtype(x.dtype());
  Tensor mu, var, new_mean, new_var;
  if (norm.training) {
    const Dims over = all_but_channel(x.dim());
    mu = flambeau::empty(statistics_sizes(x), dtype, x.device());
    var = flambeau::empty(statistics_sizes(x), dtype, x.device());
    run_fold(op::batch_norm, kMean, x.dtype(), mu, x, over);
    run_var(op::batch_norm, var, x, over, 0, false);
    const int64_t per_channel = x.numel() / x.size(1);
    const double unbiased = double(per_channel) / double(per_channel - 1);
    new_mean = moved(norm.running_mean, mu, norm.momentum);
    new_var = moved(norm.running_var, mul(var, num(unbiased)), norm.momentum);
  } else {
    // The gradient keeps the mean of now, whatever training does to the running one meanwhile.
    mu = as_channel(c.needs_grad() ? to(norm.running_mean, {}, dtype, false, true)
                                   : to_dtype(norm.running_mean, dtype),
                    x.dim());
    var = as_channel(to_dtype(norm.running_var, dtype), x.dim());
  }
  const Tensor rstd = rsqrt(add(var, num(norm.eps)));
  Tensor scale = rstd, shift;
  if (norm.weight) scale = mul(scale, to_dtype(as_channel(norm.weight, x.dim()), dtype));
  shift = neg(mul(mu, scale));
  if (norm.bias) shift = add(shift, to_dtype(as_channel(norm.bias, x.dim()), dtype));
  Tensor y;
  if (has_planes(x)) {
    const int64_t n = x.size(0);
    const Dims flat = planes_of(x);
    y = c.output(x.sizes(), x.dtype());
    run_row(op::batch_norm, kPlaneScale, x.dtype(), 1,
            {out_row(alias(y, flat, contiguous_strides(flat), y.offset())), row(reshape(x, flat)),
             each(per_plane(scale, n)), each(per_plane(shift, n))});
  } else {
    scale = to_dtype(scale, x.dtype());
    shift = to_dtype(shift, x.dtype());
    y = c.map(kScaleShift, {x, scale, shift});
  }
  if (new_mean) copy_(norm.running_mean, new_mean, false);
  if (new_var) copy_(norm.running_var, new_var, false);
  return c.track(std::move(y), BatchNormBackward{c.save(x), c.save(norm.weight), c.save(mu),
                                                 c.save(rstd), norm.training, dtype, norm.eps});
}

// A launch that moves running statistics where they lie, if at all.
bool is_by_channel(const Tensor& x, const ChannelNorm& norm) {
  const auto moves = [&](const Tensor& running) {
    return !norm.training || !running || running.is_contiguous();
  };
  return moves(norm.running_mean) && moves(norm.running_var) &&
         runs_by_channel(x, {&norm.running_mean, &norm.running_var, &norm.weight, &norm.bias});
}

Tensor normed(const Tensor& x, const ChannelNorm& norm) {
  check_operands(x, norm);
  if (x.dim() == 1) return clone(x);
  const Tensor &weight = norm.weight, &bias = norm.bias;
  if (x.numel() == 0) {  // no statistics, and none change
    const Tensor scaled = weight ? mul(x, as_channel(weight, x.dim())) : clone(x);
    return bias ? add(scaled, as_channel(bias, x.dim())) : scaled;
  }
  {
    const Call same_device{
        op::batch_norm, {x, norm.running_mean, norm.running_var, weight, bias}, Devices::exact};
  }
  Call c{op::batch_norm, {x, weight, bias}};
  GradMode no_grad(false);
  return is_by_channel(x, norm) ? normed_by_channel(c, x, norm) : composed(c, x, norm);
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training, double momentum,
                  double eps) {
  return normed(x, {running_mean, running_var, weight, bias, training, momentum, eps});
}

Tensor batch_norm_tracked(const Tensor& x, const Tensor& num_batches_tracked,
                          const Tensor& running_mean, const Tensor& running_var,
                          const Tensor& weight, const Tensor& bias, double momentum, double eps) {
  const Tensor& n = num_batches_tracked;
  const Call c{
      op::batch_norm_tracked, {x, n, running_mean, running_var, weight, bias}, Devices::exact};
  check(n.dtype() == Dtype::i64 && n.numel() == 1, Code::dtype,
        "batch_norm_tracked: num_batches_tracked must be one int64, got ", n);
  ChannelNorm norm{running_mean, running_var, weight, bias, true, momentum, eps};
  if (is_by_channel(x, norm)) norm.batches = n;
  Tensor y = normed(x, norm);
  if (!norm.batches) add_(n, num(int64_t{1}));
  return y;
}

}  // namespace flambeau::ops
