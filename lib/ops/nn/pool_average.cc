// Pooling by averages. The gradient is linear in dy, and its gradient is the average again. Power
// averages are averages of powers.
#include <cmath>

#include "kernels/fold/fold.h"
#include "ops/nn/pool_windows.h"

namespace flambeau::ops {

namespace {

constexpr Op kAvgPoolBackwardOp{"avg_pool_backward"};

// Windows of given sizes, or (without) those that make the result have a given size.
struct AveragePool {
  const Op& op;
  std::optional<PoolParams> params;
  bool channels_last = false;  // how results lie, gradients too
};

Tensor average(const Tensor& x, DimsView sizes, AveragePool a);

Tensor average_backward(const Tensor& dy, DimsView sizes, const AveragePool& a);

struct AverageBackwardBackward {
  Dims output;
  AveragePool a;
  static constexpr auto name = "AvgPoolBackwardBackward0";
  Tensors operator()(const Tensor& g) const { return {average(g, output, a)}; }
};

struct ServesAlways {};

// It needs the operand's shape alone; but a pass is the last one as in torch, which saves the
// operand, except where the result is one mean of all.
template <class Passes> struct AveragePoolBackward {
  Dims sizes;
  AveragePool a;
  [[no_unique_address]] Passes passes{};
  static constexpr auto name = "AvgPoolBackward0";
  Tensors operator()(const Tensor& dy) const { return {average_backward(dy, sizes, a)}; }
};

Tensor average_backward(const Tensor& dy, DimsView sizes, const AveragePool& a) {
  Call c{kAvgPoolBackwardOp, {dy}};
  Tensor dx = empty_image(sizes, dy.dtype(), dy.device(), a.channels_last);
  if (a.params) {
    run_avg_pool_backward(a.op, dx, c[0], *a.params);
  } else {
    check_gradient_filled(a.op, dy);
    run_adaptive_avg_pool_backward(a.op, dx, c[0]);
  }
  return c.track(std::move(dx), AverageBackwardBackward{Dims(dy.sizes()), a});
}

Tensor average(const Tensor& x, DimsView sizes, AveragePool a) {
  Call c{a.op, {x}};
  a.channels_last = is_channels_last(c[0], false);
  Tensor y = empty_image(sizes, c[0].dtype(), x.device(), a.channels_last);
  const bool one =
      !a.params && std::all_of(sizes.begin() + 2, sizes.end(), [](int64_t n) { return n == 1; });
  if (a.params) {
    run_avg_pool(a.op, y, c[0], *a.params);
  } else if (one && x.numel() != 0) {
    Dims space;
    for (int64_t d = 2; d < x.dim(); ++d) space.push_back(d);
    run_fold(a.op, kMean, c[0].dtype(), y, c[0], space);
  } else {
    run_adaptive_avg_pool(a.op, y, c[0]);
  }
  if (one) return c.track(std::move(y), AveragePoolBackward<ServesAlways>{Dims(x.sizes()), a});
  return c.track(std::move(y), AveragePoolBackward<ServesOnce>{Dims(x.sizes()), a});
}

Tensor pool(const Windows& w, const Tensor& x, DimsView kernel_size, DimsView stride,
            DimsView padding, bool ceil_mode, bool count_include_pad,
            std::optional<int64_t> divisor) {
  PoolParams p = w.params(kernel_size, stride, padding, {}, ceil_mode);
  p.count_include_pad = count_include_pad;
  p.divisor = divisor.value_or(0);
  check(!divisor || *divisor != 0, Code::invalid_argument, w.op, ": divisor must be not zero");
  if (x.dtype() != Dtype::i64) w.check_floating(x);
  w.check_filled(x);
  return w.batched(x, [&](const Tensor& images) {
    return average(images, pool_sizes(w.op, images, p), {w.op, p});
  });
}

Tensor adaptive(const Windows& w, const Tensor& x, DimsView output_size) {
  const Dims output = w.each("output_size", output_size, {}, 0);
  w.check_floating(x);
  // Channels without a batch may be none: each is an image of a batch.
  if (!w.is_batched(x)) return squeeze(adaptive(w, unsqueeze(x, 1), output), Dims{1});
  Dims sizes{x.size(0), x.size(1)};
  for (int64_t n : output) sizes.push_back(n);
  return average(x, sizes, {w.op, std::nullopt});
}

// (sum x^p)^(1/p): a sum is the average times the window's size; below 0 it counts as 0.
Tensor power_pool(const Windows& w, const Tensor& x, double p, DimsView kernel_size,
                  DimsView stride, bool ceil_mode) {
  check(p != 0, Code::invalid_argument, w.op, ": norm_type must not be 0");
  const Dims kernel = w.each("kernel_size", kernel_size, {}, 1);
  const Tensor mean = pool(w, pow(x, num(p)), kernel, stride, {}, ceil_mode, true, std::nullopt);
  const Tensor positive = mul(sign(mean), relu(abs(mean)));
  return pow(mul(positive, num(double(numel_of(kernel)))), num(1 / p));
}

}  // namespace

Tensor avg_pool1d(const Tensor& x, DimsView kernel_size, DimsView stride, DimsView padding,
                  bool ceil_mode, bool count_include_pad) {
  return pool({op::avg_pool1d, 1}, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
              {});
}

Tensor avg_pool2d(const Tensor& x, DimsView kernel_size, DimsView stride, DimsView padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override,
                  Into) {
  return pool({op::avg_pool2d, 2}, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
              divisor_override);
}

Tensor avg_pool3d(const Tensor& x, DimsView kernel_size, DimsView stride, DimsView padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override,
                  Into) {
  return pool({op::avg_pool3d, 3}, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
              divisor_override);
}

Tensor adaptive_avg_pool1d(const Tensor& x, DimsView output_size) {
  return adaptive({op::adaptive_avg_pool1d, 1}, x, output_size);
}

Tensor adaptive_avg_pool2d(const Tensor& x, DimsView output_size) {
  return adaptive({op::adaptive_avg_pool2d, 2}, x, output_size);
}

Tensor adaptive_avg_pool3d(const Tensor& x, DimsView output_size) {
  return adaptive({op::adaptive_avg_pool3d, 3}, x, output_size);
}

Tensor lp_pool1d(const Tensor& x, double p, DimsView kernel_size, DimsView stride, bool ceil_mode) {
  return power_pool({op::avg_pool1d, 1}, x, p, kernel_size, stride, ceil_mode);
}

Tensor lp_pool2d(const Tensor& x, double p, DimsView kernel_size, DimsView stride, bool ceil_mode) {
  return power_pool({op::avg_pool2d, 2}, x, p, kernel_size, stride, ceil_mode);
}

Tensor lp_pool3d(const Tensor& x, double p, DimsView kernel_size, DimsView stride, bool ceil_mode) {
  return power_pool({op::avg_pool3d, 3}, x, p, kernel_size, stride, ceil_mode);
}

}  // namespace flambeau::ops
