// Pooling by maxima. The gradient goes where the maximum was; read back there it is its own
// inverse, so second derivatives need only a gather. Unpooling is the scatter to those places.
#include <algorithm>
#include <tuple>

#include "ops/nn/pool_windows.h"

namespace flambeau::ops {

namespace {

constexpr Op kMaxPoolBackwardOp{"max_pool_backward"};

using Two = std::tuple<Tensor, Tensor>;

// Windows of given sizes, or (without) those that make the result have a given size.
struct MaxPool {
  const Op& op;
  std::optional<PoolParams> params;
  bool channels_last = false;  // how results lie, gradients too
};

// Elements of each plane at the maxima's places.
Tensor take_maxima(const Tensor& x, const Tensor& indices) {
  return reshape(gather(flat_planes(x), 2, flat_planes(indices)), indices.sizes());
}

struct MaxBackwardBackward {
  Saved indices;
  static constexpr auto name = "MaxPoolBackwardBackward0";
  Tensors operator()(const Tensor& g) const { return {take_maxima(g, indices)}; }
};

Tensor max_backward(const Tensor& dy, const Tensor& indices, DimsView sizes, const MaxPool& m) {
  Call c{kMaxPoolBackwardOp, {dy}};
  Tensor dx = empty_image(sizes, dy.dtype(), dy.device(), m.channels_last);
  if (m.params) {
    run_max_pool_backward(m.op, dx, c[0], indices, *m.params);
  } else {
    check_gradient_filled(m.op, dy);
    run_adaptive_max_pool_backward(m.op, dx, c[0], indices);
  }
  return c.track(std::move(dx), MaxBackwardBackward{c.save(indices)});
}

struct MaxPoolBackward {
  Saved indices;
  Dims sizes;
  MaxPool m;
  static constexpr auto name = "MaxPoolWithIndicesBackward0";
  Tensors operator()(const Tensor& dy) const { return {max_backward(dy, indices, sizes, m)}; }
};

// Of one volume no stride of a batch tells how its channels lie.
bool is_volume_channels_last(const Tensor& x) {
  const Dims last = channels_last_strides(x.sizes());
  return x.dim() == 5 && x.size(0) == 1 &&
         std::equal(last.begin() + 1, last.end(), x.strides().begin() + 1);
}

// Of images with a batch. `places`: the caller wants them, as a gradient does.
Two pool_images(const Tensor& x, DimsView sizes, MaxPool m, bool places = true) {
  Call c{m.op, {x}};
  m.channels_last =
      is_channels_last(c[0], m.params.has_value()) || (m.params && is_volume_channels_last(c[0]));
  Tensor y = empty_image(sizes, c[0].dtype(), x.device(), m.channels_last);
  const Tensor indices = places || c.needs_grad()
                             ? empty_image(sizes, Dtype::i64, x.device(), m.channels_last)
                             : Tensor();
  if (m.params) {
    run_max_pool(m.op, y, indices, c[0], *m.params);
  } else {
    run_adaptive_max_pool(m.op, y, indices, c[0]);
  }
  return {c.track(std::move(y), MaxPoolBackward{c.save(indices), Dims(x.sizes()), m}), indices};
}

Two without(int64_t dim, Two results) {
  auto& [y, indices] = results;
  if (!indices) return {squeeze(y, Dims{dim}), indices};
  return {squeeze(y, Dims{dim}), alias(squeeze(indices, Dims{dim}))};  // no view of what y keeps
}

Two pool(const Windows& w, const Tensor& x, const PoolParams& p, bool places = true) {
  const size_t dims = w.spatial + 1;
  check(size_t(x.dim()) == dims || size_t(x.dim()) == dims + 1, Code::shape, w.op, ": non-empty ",
        dims, "D or ", dims + 1, "D (batch mode) tensor expected for input, but got ", x);
  w.check_filled(x);
  if (!w.is_batched(x)) return without(0, pool(w, unsqueeze(x, 0), p, places));
  check(x.dtype() != Dtype::boolean, Code::dtype, "\"", w.op, "\" not implemented for 'bool'");
  return pool_images(x, pool_sizes(w.op, x, p), {w.op, p}, places);
}

Two adaptive(const Windows& w, const Tensor& x, DimsView output_size) {
  const Dims output = w.each("output_size", output_size, {}, 0);
  // Channels without a batch may be none: each is an image of a batch.
  if (!w.is_batched(x)) return without(1, adaptive(w, unsqueeze(x, 1), output));
  w.check_floating(x);
  w.check_filled(x);
  Dims sizes{x.size(0), x.size(1)};
  for (int64_t n : output) sizes.push_back(n);
  return pool_images(x, sizes, {w.op, std::nullopt});
}

Tensor unpool(const Windows& w, const Tensor& x, const Tensor& indices, DimsView output_size) {
  const Dims output = w.each("output_size", output_size, {}, 0);
  check(std::equal(x.sizes().begin(), x.sizes().end(), indices.sizes().begin(),
                   indices.sizes().end()),
        Code::shape, "Expected shape of indices to be same as that of the input tensor (",
        ShapeText{x.sizes()}, ") but got indices tensor with shape: ", ShapeText{indices.sizes()});
  check(indices.dtype() == Dtype::i64, Code::dtype,
        "elements in indices should be type int64 but got: ", name_of(indices.dtype()));
  if (!w.is_batched(x)) {
    return squeeze(unpool(w, unsqueeze(x, 0), unsqueeze(indices, 0), output), Dims{0});
  }
  const Call c{w.op, {x, indices}};
  Dims sizes{x.size(0), x.size(1)};
  for (int64_t n : output) sizes.push_back(n);
  const Dims planes{x.size(0), x.size(1), numel_of(output)};
  const Tensor none = zeros(planes, c[0].dtype(), x.device());
  return in_order(reshape(scatter(none, 2, flat_planes(c[1]), flat_planes(c[0])), sizes),
                  is_channels_last(x, false));
}

}  // namespace

Two max_pool1d_with_indices(const Tensor& x, DimsView kernel_size, DimsView stride,
                            DimsView padding, DimsView dilation, bool ceil_mode) {
  const Windows w{op::max_pool1d, 1};
  return pool(w, x, w.params(kernel_size, stride, padding, dilation, ceil_mode));
}

Two max_pool2d_with_indices(const Tensor& x, DimsView kernel_size, DimsView stride,
                            DimsView padding, DimsView dilation, bool ceil_mode) {
  const Windows w{op::max_pool2d, 2};
  return pool(w, x, w.params(kernel_size, stride, padding, dilation, ceil_mode));
}

Two max_pool3d_with_indices(const Tensor& x, DimsView kernel_size, DimsView stride,
                            DimsView padding, DimsView dilation, bool ceil_mode) {
  const Windows w{op::max_pool3d_with_indices, 3};
  return pool(w, x, w.params(kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor max_pool1d(const Tensor& x, DimsView kernel_size, DimsView stride, DimsView padding,
                  DimsView dilation, bool ceil_mode) {
  const Windows w{op::max_pool1d, 1};
  return std::get<0>(
      pool(w, x, w.params(kernel_size, stride, padding, dilation, ceil_mode), false));
}

Tensor max_pool2d(const Tensor& x, DimsView kernel_size, DimsView stride, DimsView padding,
                  DimsView dilation, bool ceil_mode) {
  const Windows w{op::max_pool2d, 2};
  return std::get<0>(
      pool(w, x, w.params(kernel_size, stride, padding, dilation, ceil_mode), false));
}

Tensor max_pool3d(const Tensor& x, DimsView kernel_size, DimsView stride, DimsView padding,
                  DimsView dilation, bool ceil_mode) {
  const Windows w{op::max_pool3d, 3};
  return std::get<0>(
      pool(w, x, w.params(kernel_size, stride, padding, dilation, ceil_mode), false));
}

Two adaptive_max_pool1d(const Tensor& x, DimsView output_size) {
  return adaptive({op::adaptive_max_pool1d, 1}, x, output_size);
}

Two adaptive_max_pool2d(const Tensor& x, DimsView output_size) {
  return adaptive({op::adaptive_max_pool2d, 2}, x, output_size);
}

Two adaptive_max_pool3d(const Tensor& x, DimsView output_size) {
  return adaptive({op::adaptive_max_pool3d, 3}, x, output_size);
}

Tensor max_unpool1d(const Tensor& x, const Tensor& indices, DimsView output_size) {
  return unpool({op::max_unpool1d, 1}, x, indices, output_size);
}

Tensor max_unpool2d(const Tensor& x, const Tensor& indices, DimsView output_size) {
  return unpool({op::max_unpool2d, 2}, x, indices, output_size);
}

Tensor max_unpool3d(const Tensor& x, const Tensor& indices, DimsView output_size) {
  return unpool({op::max_unpool3d, 3}, x, indices, output_size);
}

}  // namespace flambeau::ops
