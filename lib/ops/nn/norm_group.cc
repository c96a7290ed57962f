// Normalisations of groups of channels, by planes where they lie dense, else as the rows of a layer
// norm; and others on a reshaped input: instances are groups of one channel. Half types are
// normalised in f32 and rounded once.
#include "base/error.h"
#include "ops/formula.h"
#include "ops/nn/ordered.h"
#include "ops/nn/planes.h"

namespace flambeau::ops {

namespace {

// [c] as [1, c, 1, ...].
Tensor per_channel(const Tensor& t, int64_t ndim) {
  Dims sizes(size_t(ndim), 1);
  sizes[1] = t.numel();
  return reshape(t, sizes);
}

void check_channel(const char* op, const char* what, const Tensor& t, const Tensor& x) {
  check(!t || (t.dim() == 1 && t.numel() == x.size(1)), Code::shape, "Expected ", what,
        " to be a vector of size equal to the number of channels in input, but got ", what,
        " of shape ", t, " and input of shape ", x, " in ", op);
}

Tensor widened(const Tensor& t) {
  return !t || t.dtype() == Dtype::f64 ? t : to_dtype(t, Dtype::f32);
}

Tensor affine(Tensor y, const Tensor& weight, const Tensor& bias) {
  if (weight && bias) {
    return addcmul(per_channel(bias, y.dim()), y, per_channel(weight, y.dim()));
  }
  if (weight) y = mul(y, per_channel(weight, y.dim()));
  return bias ? add(y, per_channel(bias, y.dim())) : y;
}

// A statistic of [n c] channels, averaged over n, becomes the running one.
void keep_running(const Tensor& running, const Tensor& repeated, int64_t n) {
  if (!running) return;
  GradMode no_grad(false);
  const int64_t first = 0;
  copy_(running, mean(reshape(repeated, Dims{n, running.numel()}), {&first, 1}));
}

Tensor repeated_for(const Tensor& t, int64_t n) { return t ? repeat(t, Dims{n}) : t; }

Dtype statistics_of(const Tensor& x) { return x.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

struct GroupNormBackward {
  Saved x, weight;
  Saved mean, rstd;  // [n, groups]
  double eps;
  static constexpr auto name = "NativeGroupNormBackward0";

  Tensors operator()(const Tensor& dy) const {
    return modes.grad ? by_ops(dy) : of_planes(contiguous(dy), contiguous(x.get()));
  }

 private:
  Dims grouped_sizes(const Tensor& in) const {
    const int64_t groups = rstd.unchecked().size(1);
    return {in.size(0), groups, in.size(1) / groups};
  }

  Tensors of_planes(const Tensor& dy, const Tensor& in) const {
    const Dims sizes = grouped_sizes(in), planes{in.size(0), in.size(1)};
    const auto for_planes = [&](const Tensor& t) {  // of [n, groups, 1]
      return reshape(contiguous(expand(t, sizes)), planes);
    };
    const int64_t first = 0, last = 2;
    const Tensor mu = unsqueeze(mean.get(), 2), r = unsqueeze(rstd.get(), 2);
    const Tensor mu_planes = for_planes(mu), r_planes = for_planes(r);
    const PlaneSums of = plane_sums(op::group_norm, dy, in, mu_planes);
    Tensors g(3);
    if (wanted(1)) g[1] = sum(mul(of.dot, r_planes), {&first, 1});
    if (wanted(2)) g[2] = sum(of.sum, {&first, 1});
    if (!wanted(0)) return g;
    const Tensor w = weight.defined() ? to_dtype(weight.get(), r.dtype()) : Tensor();
    const auto of_group = [&](const Tensor& t) {
      const Tensor whole = sum(reshape(w ? mul(t, w) : t, sizes), {&last, 1}, true);
      return mul(whole, num(double(sizes[0] * sizes[1]) / double(in.numel())));
    };
    const Tensor k = contiguous(w ? mul(r_planes, w) : r_planes);
    const Tensor cube = mul(mul(r, r), r);
    g[0] =
        plane_gradient(op::group_norm, dy, in, mu_planes, k, for_planes(mul(of_group(of.sum), r)),
                       for_planes(mul(of_group(of.dot), cube)));
    return g;
  }

  // As functions of x, so that the gradient can be differentiated again.
  Tensors by_ops(const Tensor& dy) const {
    const Tensor in = widened(x), g_out = widened(dy), w = widened(weight);
    const int64_t last = 2;
    const DimsView along(&last, 1);
    const Dims rows{in.size(0), rstd.unchecked().size(1), -1};
    const auto mean_of = [&](const Tensor& t) { return flambeau::ops::mean(t, along, true); };
    const Tensor flat = reshape(in, rows), centred = sub(flat, mean_of(flat));
    const Tensor r = rsqrt(add(mean_of(mul(centred, centred)), num(eps)));
    const Tensor hat = mul(centred, r);
    const Tensor scaled = reshape(w ? mul(g_out, per_channel(w, in.dim())) : g_out, rows);
    const Tensor from_var = mul(hat, mean_of(mul(scaled, hat)));
    Dims over;
    for (int64_t d = 0; d < in.dim(); ++d) {
      if (d != 1) over.push_back(d);
    }
    Tensors g(3);
    g[0] = reshape(mul(sub(sub(scaled, mean_of(scaled)), from_var), r), in.sizes());
    if (wanted(1)) g[1] = sum(mul(g_out, reshape(hat, in.sizes())), over);
    if (wanted(2)) g[2] = sum(g_out, over);
    return g;
  }
};

// Of planes that lie dense, with their own scales and shifts.
Tensor normed_planes(Call& c, int64_t groups, double eps) {
  const GradMode off(false);
  const Tensor& x = c[0];
  const Dtype dtype = statistics_of(x);
  const int64_t n = x.size(0), channels = x.size(1), each_group = channels / groups;
  const auto made = [&] { return flambeau::empty(Dims{n, groups, 1}, dtype, x.device()); };
  const Tensor mean = made(), low = made(), rstd = made();
  const Tensor rows = reshape(x, Dims{n * groups, x.numel() / (n * groups)});
  run_row(op::group_norm, kMoments, x.dtype(), 1,
          {out_each(mean), out_each(low), out_each(rstd), row(rows)}, {eps});
  const auto for_planes = [&](const Tensor& t) {
    return contiguous(expand(t, Dims{n, groups, each_group}));
  };
  const auto for_channel = [&](const Tensor& t, double otherwise) {
    const Dims sizes{1, groups, each_group};
    return t ? reshape(to_dtype(t, dtype), sizes) : full(sizes, num(otherwise), dtype, x.device());
  };
  const Tensor scale = for_channel(c[1], 1);
  // What of the mean its dtype cannot hold is taken off behind the scale.
  const Tensor shift = sub(for_channel(c[2], 0), mul(mul(low, rstd), scale));
  Tensor y = c.output(x.sizes(), x.dtype());
  const Dims flat = planes_of(x);
  const Tensor planes = alias(y, flat, contiguous_strides(flat), y.offset());
  run_row(op::group_norm, kPlaneNorm, x.dtype(), 1,
          {out_row(planes), row(reshape(x, flat)), each(for_planes(mean)), each(for_planes(rstd)),
           each(for_planes(scale)), each(for_planes(shift))});
  return c.track(std::move(y),
                 GroupNormBackward{c.save(x), c.save(c[1]), c.save(squeeze(mean, Dims{2})),
                                   c.save(squeeze(rstd, Dims{2})), eps});
}

Tensor grouped(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias,
               double eps) {
  check(x.dim() >= 2, Code::shape, "Expected at least 2 dimensions for input tensor but received ",
        x.dim());
  check(num_groups > 0 && x.size(1) % num_groups == 0, Code::shape,
        "Expected number of channels in input to be divisible by num_groups, but got input of "
        "shape ",
        ShapeText{x.sizes()}, " and num_groups=", num_groups);
  check(is_floating(x.dtype()), Code::dtype, "\"group_norm\" not implemented for '",
        name_of(x.dtype()), "'");
  check(x.size(1) > 0, Code::shape, "Expected number of channels to be greater than 0, got 0");
  const int64_t spatial = numel_of(x.sizes().subspan(2));
  check(spatial > 0, Code::shape, "Expected HxW to be greater than 0, got 0");
  check_channel(op::group_norm, "weight", weight, x);
  check_channel(op::group_norm, "bias", bias, x);
  Call c{op::group_norm, {x, weight, bias}};
  const Tensor& in = c[0];
  const int64_t n = in.size(0), per_group = n ? in.numel() / (n * num_groups) : 0;
  if (in.numel() == 0) return affine(clone(in), c[1], c[2]);
  if (has_planes(in)) return normed_planes(c, num_groups, eps);
  const Tensor rows = reshape(widened(in), Dims{n, num_groups, per_group});
  const Tensor hat = reshape(layer_norm(rows, Dims{per_group}, {}, {}, eps), in.sizes());
  return to_dtype(affine(hat, widened(c[1]), widened(c[2])), in.dtype());
}

}  // namespace

Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check(num_groups <= 0 || x.numel() != num_groups, Code::shape,
        "Expected more than 1 value per channel when training, got input size ",
        ShapeText{x.sizes()});
  const Tensor y = grouped(with_ordered_gradient(x), num_groups, weight, bias, eps);
  return in_order(y, is_channels_last(x));
}

Tensor instance_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                     const Tensor& weight, const Tensor& bias, bool use_input_stats,
                     double momentum, double eps) {
  check(x.dim() >= 2, Code::shape, "instance_norm: expected at least 2 dimensions, got ", x);
  check(use_input_stats || (running_mean && running_var), Code::invalid_argument,
        "Expected running_mean and running_var to be defined when use_input_stats is false");
  for (const Tensor* t : {&running_mean, &running_var, &weight, &bias}) {
    check_channel(op::instance_norm, "statistics, weight and bias", *t, x);
  }
  const Call c{op::instance_norm, {x, running_mean, running_var, weight, bias}};
  const int64_t n = x.size(0), channels = x.size(1);
  check(!use_input_stats || x.numel() == 0 || x.numel() / (n * channels) > 1, Code::shape,
        "Expected more than 1 spatial element when training, got input size ",
        ShapeText{x.sizes()});
  const bool running = running_mean || running_var;
  if (x.numel() == 0 && !running) return affine(clone(x), weight, bias);
  if (use_input_stats && !running) return grouped(x, channels, weight, bias, eps);
  // One batch whose channels are those of all instances.
  Dims merged(x.sizes());
  merged[0] = 1;
  merged[1] = n * channels;
  const Tensor mean = repeated_for(running_mean, n), var = repeated_for(running_var, n);
  const Tensor y = batch_norm(reshape(x, merged), mean, var, repeated_for(weight, n),
                              repeated_for(bias, n), use_input_stats, momentum, eps);
  if (use_input_stats) {
    keep_running(running_mean, mean, n);
    keep_running(running_var, var, n);
  }
  return reshape(y, x.sizes());
}

Tensor local_response_norm(const Tensor& x, int64_t size, double alpha, double beta, double k) {
  check(x.dim() >= 3, Code::shape, "Expected 3D or higher dimensionality input (got ", x.dim(),
        " dimensions)");
  check(size > 0, Code::invalid_argument, "local_response_norm: size must be positive, got ", size);
  if (x.numel() == 0) return clone(x);
  // Channels as the rows of an image: the mean over neighbours is a pool.
  const int64_t rest = x.numel() / (x.size(0) * x.size(1));
  const Tensor squares = reshape(mul(x, x), Dims{x.size(0), 1, x.size(1), rest});
  const Tensor padded = pad(squares, Dims{0, 0, size / 2, (size - 1) / 2});
  const Tensor near = reshape(avg_pool2d(padded, Dims{size, 1}, Dims{1, 1}), x.sizes());
  return div(x, pow(add(mul(near, num(alpha)), num(k)), num(beta)));
}

Tensor normalize(const Tensor& x, double p, DimsView dim, double eps, Into) {
  const int64_t one = 1;
  const Tensor length = norm(x, p, dim.empty() ? DimsView(&one, 1) : dim, true);
  return div(x, clamp_min(length, num(eps)));
}

}  // namespace flambeau::ops
