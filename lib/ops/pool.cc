// Pooling. A maximum's gradient goes where the maximum was; read back there it is its own inverse,
// so second derivatives need only a gather. An average's gradient is linear in dy, and its gradient
// is the average again.
#include "kernels/pool.h"

#include "base/error.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

Dims pair_of(const char* op, const char* what, DimsView v, DimsView fallback, int64_t least) {
  if (v.empty()) v = fallback;
  check(v.size() == 1 || v.size() == 2, Code::invalid_argument, op, ": ", what,
        " must be one or two numbers, got ", ShapeText{v});
  const Dims out{v[0], v.back()};
  check(out[0] >= least && out[1] >= least, Code::invalid_argument, op, ": ", what,
        " should not be less than ", least, ", got ", ShapeText{out});
  return out;
}

PoolParams pool_params(const char* op, DimsView kernel, DimsView stride, DimsView padding) {
  const int64_t none = 0;
  PoolParams p;
  p.kernel = pair_of(op, "kernel_size", kernel, {}, 1);
  p.stride = pair_of(op, "stride", stride, p.kernel, 1);
  p.padding = pair_of(op, "padding", padding, {&none, 1}, 0);
  p.dilation = Dims{1, 1};
  for (size_t d = 0; d < 2; ++d) {
    check(2 * p.padding[d] <= p.kernel[d], Code::invalid_argument, op,
          ": pad should be at most half of effective kernel size, but got pad=", p.padding[d],
          ", kernel_size=", p.kernel[d]);
  }
  return p;
}

// Runs f on a batched operand and takes the batch away again.
template <class F> Tensor batched(const char* op, const Tensor& x, F&& f) {
  check(x.dim() == 3 || x.dim() == 4, Code::shape, op,
        ": Expected 3D or 4D (batch mode) tensor, got ", x);
  check(is_floating(x.dtype()), Code::dtype, "\"", op, "\" not implemented for '",
        name_of(x.dtype()), "'");
  return x.dim() == 4 ? f(x) : squeeze(f(unsqueeze(x, 0)), Dims{0});
}

// ---- maxima
// ----------------------------------------------------------------------------------------------

Tensor take_maxima(const Tensor& x, const Tensor& indices);

Tensor max_backward(const Tensor& dy, const Tensor& indices, DimsView sizes, const PoolParams& p);

struct MaxBackwardBackward {
  Tensor indices;
  static constexpr auto name = "MaxPool2DWithIndicesBackwardBackward0";
  Tensors operator()(const Tensor& g) const { return {take_maxima(g, indices)}; }
};

struct MaxPoolBackward {
  Tensor indices;
  Dims sizes;
  PoolParams p;
  static constexpr auto name = "MaxPool2DWithIndicesBackward0";
  Tensors operator()(const Tensor& dy) const { return {max_backward(dy, indices, sizes, p)}; }
};

Tensor max_backward(const Tensor& dy, const Tensor& indices, DimsView sizes, const PoolParams& p) {
  Call c{"max_pool2d_backward", {dy}};
  Tensor dx = c.output(sizes, dy.dtype());
  run_max_pool_backward("max_pool2d", dx, c[0], indices, p);
  return c.track(std::move(dx), MaxBackwardBackward{indices});
}

// Elements of each plane at the maxima's places.
Tensor take_maxima(const Tensor& x, const Tensor& indices) {
  const Dims planes{x.size(0), x.size(1), -1};
  return reshape(gather(reshape(x, planes), 2, reshape(indices, planes)), indices.sizes());
}

// ---- averages
// --------------------------------------------------------------------------------------------

Tensor average(const Tensor& x, const PoolParams& p);

Tensor average_backward(const Tensor& dy, DimsView sizes, const PoolParams& p);

struct AverageBackwardBackward {
  PoolParams p;
  static constexpr auto name = "AvgPool2DBackwardBackward0";
  Tensors operator()(const Tensor& g) const { return {average(g, p)}; }
};

struct AveragePoolBackward {
  Dims sizes;
  PoolParams p;
  static constexpr auto name = "AvgPool2DBackward0";
  Tensors operator()(const Tensor& dy) const { return {average_backward(dy, sizes, p)}; }
};

Tensor average_backward(const Tensor& dy, DimsView sizes, const PoolParams& p) {
  Call c{"avg_pool2d_backward", {dy}};
  Tensor dx = c.output(sizes, dy.dtype());
  run_avg_pool_backward("avg_pool2d", dx, c[0], p);
  return c.track(std::move(dx), AverageBackwardBackward{p});
}

Tensor average(const Tensor& x, const PoolParams& p) {
  Call c{"avg_pool2d", {x}};
  Tensor y = flambeau::empty(pool_sizes("avg_pool2d", x, p), x.dtype(), x.device());
  run_avg_pool("avg_pool2d", y, c[0], p);
  return c.track(std::move(y), AveragePoolBackward{Dims(x.sizes()), p});
}

Tensor adaptive(const Tensor& x, DimsView output);

Tensor adaptive_backward(const Tensor& dy, DimsView sizes);

struct AdaptiveBackwardBackward {
  Dims output;
  static constexpr auto name = "AdaptiveAvgPool2DBackwardBackward0";
  Tensors operator()(const Tensor& g) const { return {adaptive(g, output)}; }
};

struct AdaptiveBackward {
  Dims sizes;
  static constexpr auto name = "AdaptiveAvgPool2DBackward0";
  Tensors operator()(const Tensor& dy) const { return {adaptive_backward(dy, sizes)}; }
};

Tensor adaptive_backward(const Tensor& dy, DimsView sizes) {
  Call c{"adaptive_avg_pool2d_backward", {dy}};
  Tensor dx = c.output(sizes, dy.dtype());
  run_adaptive_avg_pool_backward("adaptive_avg_pool2d", dx, c[0]);
  return c.track(std::move(dx), AdaptiveBackwardBackward{Dims{dy.size(2), dy.size(3)}});
}

Tensor adaptive(const Tensor& x, DimsView output) {
  Call c{"adaptive_avg_pool2d", {x}};
  Tensor y =
      flambeau::empty(Dims{x.size(0), x.size(1), output[0], output[1]}, x.dtype(), x.device());
  run_adaptive_avg_pool("adaptive_avg_pool2d", y, c[0]);
  return c.track(std::move(y), AdaptiveBackward{Dims(x.sizes())});
}

}  // namespace

Tensor max_pool2d(const Tensor& x, DimsView kernel_size, DimsView stride, DimsView padding,
                  DimsView dilation, bool ceil_mode) {
  const int64_t one = 1;
  PoolParams p = pool_params("max_pool2d", kernel_size, stride, padding);
  p.dilation = pair_of("max_pool2d", "dilation", dilation, {&one, 1}, 1);
  p.ceil_mode = ceil_mode;
  return batched("max_pool2d", x, [&](const Tensor& images) {
    Call c{"max_pool2d", {images}};
    const Dims sizes = pool_sizes("max_pool2d", images, p);
    Tensor y = flambeau::empty(sizes, images.dtype(), images.device());
    const Tensor indices = flambeau::empty(sizes, Dtype::i64, images.device());
    run_max_pool("max_pool2d", y, indices, c[0], p);
    return c.track(std::move(y), MaxPoolBackward{indices, Dims(images.sizes()), p});
  });
}

Tensor avg_pool2d(const Tensor& x, DimsView kernel_size, DimsView stride, DimsView padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  PoolParams p = pool_params("avg_pool2d", kernel_size, stride, padding);
  p.ceil_mode = ceil_mode;
  p.count_include_pad = count_include_pad;
  p.divisor = divisor_override.value_or(0);
  check(!divisor_override || *divisor_override != 0, Code::invalid_argument,
        "avg_pool2d: divisor must be not zero");
  return batched("avg_pool2d", x, [&](const Tensor& images) { return average(images, p); });
}

Tensor adaptive_avg_pool2d(const Tensor& x, DimsView output_size) {
  const Dims output = pair_of("adaptive_avg_pool2d", "output_size", output_size, {}, 0);
  return batched("adaptive_avg_pool2d", x,
                 [&](const Tensor& images) { return adaptive(images, output); });
}

}  // namespace flambeau::ops
