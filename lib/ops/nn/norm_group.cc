// Normalisations that are others on a reshaped input: groups of channels are the rows of a layer
// norm, instances are groups of one channel. Half types are normalised in f32 and rounded once.
#include "base/error.h"
#include "ops/formula.h"
#include "ops/nn/ordered.h"

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

}  // namespace

namespace {

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
  const Call c{op::group_norm, {x, weight, bias}};
  const Tensor& in = c[0];
  const int64_t n = in.size(0), per_group = n ? in.numel() / (n * num_groups) : 0;
  if (in.numel() == 0) return affine(clone(in), c[1], c[2]);
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
