// Gradient clipping. The scale is computed on the device, so nothing waits; gradients that are
// alike are measured and scaled by lists, in a few launches instead of three for each.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/label.h"
#include "device/probe.h"
#include "graph/mode.h"
#include "kernels/optimizer/clip.h"
#include "ops/ops.h"
#include "optim/optimizer.h"
#include "tensor/order.h"

namespace flambeau::optim {

namespace {

Tensors gradients(TensorsView params) {
  Tensors grads;
  for (const Tensor& p : params) {
    if (p.impl()->autograd && p.impl()->autograd->grad) grads.push_back(p.impl()->autograd->grad);
  }
  return grads;
}

// Whether kernels over lists may take all of them at once: alike, each one stretch of memory, and
// none in another's, which would be scaled twice in whatever order.
bool are_list(TensorsView grads) {
  std::vector<std::pair<const char*, const char*>> ranges;
  for (const Tensor& g : grads) {
    const bool alike = g.dtype() == grads[0].dtype() && g.device() == grads[0].device();
    if (!alike || !is_floating(g.dtype()) || !is_dense(g)) return false;
    const auto* const at = static_cast<const char*>(g.data());
    if (g.numel() > 0) ranges.emplace_back(at, at + g.numel() * int64_t(g.element_size()));
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) return false;
  return true;
}

// What profiles show of a list's launches, under the names of PyTorch's calls for lists.
probe::Token list_span(const char* name, TensorsView list) {
  return probe::begin_op(intern(name), list[0].device(), {});
}

// The norm of all gradients, the norm of their norms, on the first one's device; and the factor
// that they are scaled by.
struct Measured {
  Tensor total, factor;
};

Tensor factor_of(const Tensor& total, double max_norm) {
  const Tensor room = ops::div(wrapped_number(max_norm), ops::add(total, wrapped_number(1e-6)));
  return ops::clamp(room, {}, wrapped_number(1.0));
}

Measured measured(TensorsView grads, double p, double max_norm) {
  const Tensor norms =
      flambeau::empty(Dims{int64_t(grads.size())}, grads[0].dtype(), grads[0].device());
  for (size_t i = 0; i < grads.size(); ++i) {
    ops::copy_(ops::select(norms, 0, int64_t(i)), ops::norm(grads[i], p));
  }
  const Tensor total = ops::norm(norms, p);
  return {total, factor_of(total, max_norm)};
}

// The same of a list's 2-norms; in f64 with a factor of f64, for which a list's cell has no room.
Measured measured_list(TensorsView grads, double max_norm) {
  const Dtype dtype = grads[0].dtype();
  const Device device = grads[0].device();
  if (std::all_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.numel() == 0; })) {
    const Tensor total = ops::zeros({}, dtype, device);
    return {total, factor_of(total, max_norm)};
  }
  const bool wide = dtype == Dtype::f64;
  const Tensor total = flambeau::empty({}, dtype, device),
               factor = wide ? Tensor() : flambeau::empty({}, Dtype::f32, device);
  {
    const probe::Span span(probe::on() ? list_span("_foreach_norm", grads) : 0);
    run_norms("norm", grads, total, factor, max_norm);
  }
  return {total, wide ? factor_of(total, max_norm) : factor};
}

// In f64 one by one: the cell that lists are scaled by is an f32.
void scale_all(TensorsView grads, const Tensor& factor, bool list) {
  if (list && grads[0].dtype() != Dtype::f64) {
    const probe::Span span(probe::on() ? list_span("_foreach_mul_", grads) : 0);
    return run_scale("mul", grads, ops::to_dtype(factor, Dtype::f32));
  }
  for (const Tensor& g : grads) ops::mul_(g, ops::to_device(factor, g.device(), true));
}

}  // namespace

Tensor clip_grad_norm(TensorsView params, double max_norm, double norm_type,
                      bool error_if_nonfinite) {
  GradMode no_grad(false);
  const Tensors grads = gradients(params);
  if (grads.empty()) return ops::zeros(Dims{});
  const bool list = are_list(grads);
  const auto [total, factor] = list && norm_type == 2 ? measured_list(grads, max_norm)
                                                      : measured(grads, norm_type, max_norm);
  if (error_if_nonfinite) {
    double value;
    const Tensor host = ops::to_dtype(ops::to_device(total, kCpu, false), Dtype::f64);
    value = *host.data_as<double>();
    check(std::isfinite(value), Code::non_finite, "The total norm of order ", norm_type,
          " for gradients from `parameters` is ", value, ", so it cannot be clipped");
  }
  scale_all(grads, factor, list);
  return total;
}

void clip_grad_value(TensorsView params, double bound) {
  check(bound >= 0, Code::invalid_argument, "clip_value must not be negative, got ", bound);
  GradMode no_grad(false);
  for (const Tensor& g : gradients(params)) {
    ops::clamp_(g, wrapped_number(-bound), wrapped_number(bound));
  }
}

}  // namespace flambeau::optim
