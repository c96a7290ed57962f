// Normalisations. Batch norm is a scale and a shift per channel, found from the batch in f32 (f64
// for f64) or from running statistics; its gradient is two sums per channel and one elementwise
// pass, by planes where they lie dense.
#include "ops/nn/norm.h"

#include <cmath>

#include "base/error.h"
#include "kernels/fold/fold.h"
#include "ops/formula.h"
#include "ops/nn/normalized.h"
#include "ops/nn/planes.h"
#include "ops/nn/rows.h"

namespace flambeau::ops {

namespace {

Dtype statistics_dtype(Dtype d) { return d == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

// Whether a half operand comes with f32 weights, as under autocast of the cpu.
bool has_wider(const Call& c) {
  bool wider = false;
  for (size_t i = 1; i < c.size(); ++i) wider |= c[i] && c[i].dtype() == Dtype::f32;
  return wider && is_half(c[0].dtype());
}

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
  static constexpr auto name = "NativeBatchNormBackward0";

  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x;
    return modes.grad || !has_planes(in) ? by_ops(dy) : of_planes(contiguous(dy), in);
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

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training, double momentum,
                  double eps) {
  check(training ? eps > 0 : eps >= 0, Code::invalid_argument, "batch_norm: eps must be ",
        training ? "positive during training" : "non-negative", ", but got ", eps);
  if (x.dim() == 1 && x.numel() == 0) return clone(x);
  check(x.dim() >= 2, Code::shape, "batch_norm: expected 2D or higher input (got ", x.dim(),
        "D input)");
  check_channel("running_mean", running_mean, x);
  check_channel("running_var", running_var, x);
  check_channel("weight", weight, x);
  check_channel("bias", bias, x);
  const int64_t per_channel = x.numel() / std::max<int64_t>(x.size(1), 1);
  check(!training || per_channel != 1, Code::shape,
        "Expected more than 1 value per channel when training, got input size ",
        ShapeText{x.sizes()});
  check(training || (running_mean && running_var), Code::invalid_argument,
        "batch_norm: running_mean and running_var must be given outside training");
  if (x.numel() == 0) {  // no statistics, and none change
    const Tensor scaled = weight ? mul(x, as_channel(weight, x.dim())) : clone(x);
    return bias ? add(scaled, as_channel(bias, x.dim())) : scaled;
  }
  {
    const Call same_device{
        op::batch_norm, {x, running_mean, running_var, weight, bias}, Devices::exact};
  }
  Call c{op::batch_norm, {x, weight, bias}};
  const Dtype dtype = statistics_dtype(x.dtype());
  Dims stat_sizes(size_t(x.dim()), 1);
  stat_sizes[1] = x.size(1);
  GradMode no_grad(false);
  Tensor mu, var, new_mean, new_var;
  if (training) {
    const Dims over = all_but_channel(x.dim());
    mu = flambeau::empty(stat_sizes, dtype, x.device());
    var = flambeau::empty(stat_sizes, dtype, x.device());
    run_fold(op::batch_norm, kMean, x.dtype(), mu, x, over);
    run_var(op::batch_norm, var, x, over, 0, false);
    const double unbiased = double(per_channel) / double(per_channel - 1);
    new_mean = moved(running_mean, mu, momentum);
    new_var = moved(running_var, mul(var, num(unbiased)), momentum);
  } else {
    // The gradient keeps the mean of now, whatever training does to the running one meanwhile.
    mu = as_channel(
        c.needs_grad() ? to(running_mean, {}, dtype, false, true) : to_dtype(running_mean, dtype),
        x.dim());
    var = as_channel(to_dtype(running_var, dtype), x.dim());
  }
  const Tensor rstd = rsqrt(add(var, num(eps)));
  Tensor scale = rstd, shift;
  if (weight) scale = mul(scale, to_dtype(as_channel(weight, x.dim()), dtype));
  shift = neg(mul(mu, scale));
  if (bias) shift = add(shift, to_dtype(as_channel(bias, x.dim()), dtype));
  Tensor y;
  if (has_planes(c[0])) {
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
  if (new_mean) copy_(running_mean, new_mean, false);
  if (new_var) copy_(running_var, new_var, false);
  return c.track(std::move(y), BatchNormBackward{c.save(x), c.save(weight), c.save(mu),
                                                 c.save(rstd), training, eps});
}

// ---- layer norm
// ------------------------------------------------------------------------------------------

namespace {

struct LayerNormBackward {
  Saved x, weight;
  Saved mean, rstd;  // [rows]
  int64_t rows, n;
  double eps;
  static constexpr auto name = "NativeLayerNormBackward0";

  Tensors operator()(const Tensor& dy) const {
    return modes.grad ? differentiable(dy) : fused_pass(dy);
  }

  Tensors fused_pass(const Tensor& dy) const {
    const Tensor input = x, w = weight, mu = mean, r = rstd;
    const Dims flat{rows, n};
    const Tensor dy2 = contiguous(reshape(dy, flat)), x2 = contiguous(reshape(input, flat));
    const Tensor w1 = w ? contiguous(reshape(w, Dims{n})) : w;
    // Whole, and not views of something flat: a leaf takes its gradient only where it has it alone.
    Tensors g(3);
    g[0] = flambeau::empty(input.sizes(), dy.dtype(), dy.device());
    for (size_t i : {size_t(1), size_t(2)}) {
      if (wanted(i)) g[i] = flambeau::empty(normalized, dy.dtype(), dy.device());
    }
    const auto as = [](const Tensor& t, const Dims& sizes) {
      return t ? alias(t, sizes, contiguous_strides(sizes), t.offset()) : t;
    };
    const Tensor dx = as(g[0], flat), dw = as(g[1], Dims{n}), db = as(g[2], Dims{n});
    run_row(op::layer_norm, kLayerNormBackward, dy.dtype(), 1,
            {out_row(dx), out_total(dw), out_total(db, dy2), row(dy2), row(x2), each(r), shared(w1),
             each(mu)});
    return g;
  }

  Tensors differentiable(const Tensor& dy) const {
    const Dims flat{rows, n};
    const Tensor input = reshape(x, flat), g_out = reshape(dy, flat);
    const Tensor w = weight.defined() ? reshape(weight, Dims{n}) : Tensor();
    const int64_t last = 1, first = 0;
    const DimsView row_dim(&last, 1), batch_dim(&first, 1);
    const Tensor centred = sub(input, flambeau::ops::mean(input, row_dim, true));
    const Tensor r =
        rsqrt(add(flambeau::ops::mean(mul(centred, centred), row_dim, true), num(eps)));
    const Tensor xhat = mul(centred, r), scaled = w ? mul(g_out, w) : g_out;
    const Tensor from_mean = flambeau::ops::mean(scaled, row_dim, true);
    const Tensor from_var = mul(xhat, flambeau::ops::mean(mul(scaled, xhat), row_dim, true));
    Tensors g(3);
    g[0] = reshape(mul(sub(sub(scaled, from_mean), from_var), r), dy.sizes());
    if (wanted(1)) g[1] = sum(mul(g_out, xhat), batch_dim);
    if (wanted(2)) g[2] = sum(g_out, batch_dim);
    for (size_t i : {size_t(1), size_t(2)}) {
      if (g[i]) g[i] = reshape(g[i], normalized);
    }
    return g;
  }
  Dims normalized;
};

}  // namespace

Tensor layer_norm(const Tensor& x, DimsView normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  check_normalized(op::layer_norm, x, normalized_shape, {&weight, &bias});
  Call c{op::layer_norm, {x, weight, bias}, Devices::exact};
  for (size_t i : {size_t(1), size_t(2)}) {  // torch: halves may have weights in f32
    if (!c[i].defined()) continue;
    if (is_half(c[0].dtype()) && c[i].dtype() == Dtype::f32) c.convert(i, c[0].dtype());
    check(c[i].dtype() == c[0].dtype(), Code::dtype, "layer_norm: input is ", c[0], ", ",
          op::layer_norm.operand(i), " is ", c[i], "; convert one with .to(dtype)");
  }
  if (has_wider(c)) {  // computed in f32, rounded once
    const auto wide = [&](size_t i) { return c[i] ? to_dtype(c[i], Dtype::f32) : Tensor(); };
    return to_dtype(layer_norm(wide(0), normalized_shape, wide(1), wide(2), eps), c[0].dtype());
  }
  const int64_t n = numel_of(normalized_shape), rows = n ? x.numel() / n : 0;
  const Dims flat{rows, n};
  GradMode no_grad(false);
  const Tensor x2 = contiguous(reshape(c[0], flat));
  const Dtype dtype = statistics_dtype(c[0].dtype());
  const Tensor mean = flambeau::empty(Dims{rows}, dtype, x.device()),
               rstd = flambeau::empty(Dims{rows}, dtype, x.device());
  Tensor y = c.output(c[0].sizes(), c[0].dtype());
  const Tensor y2 = alias(y, flat, contiguous_strides(flat), y.offset());
  const Tensor w1 = c[1] ? contiguous(reshape(c[1], Dims{n})) : Tensor(),
               b1 = c[2] ? contiguous(reshape(c[2], Dims{n})) : Tensor();
  run_row(op::layer_norm, kLayerNorm, c[0].dtype(), 1,
          {out_row(y2), out_each(mean), out_each(rstd), row(x2), shared(w1), shared(b1)}, {eps});
  return c.track(std::move(y),
                 LayerNormBackward{c.save(c[0]), c.save(c[1]), c.save(mean), c.save(rstd), rows, n,
                                   eps, Dims(normalized_shape)});
}

}  // namespace flambeau::ops
