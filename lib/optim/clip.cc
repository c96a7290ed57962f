// Gradient clipping. The scale is computed on the device, so nothing waits.
#include <cmath>

#include "base/error.h"
#include "graph/mode.h"
#include "ops/ops.h"
#include "optim/optimizer.h"

namespace flambeau::optim {

namespace {

Tensors gradients(TensorsView params) {
  Tensors grads;
  for (const Tensor& p : params) {
    if (p.impl()->autograd && p.impl()->autograd->grad) grads.push_back(p.impl()->autograd->grad);
  }
  return grads;
}

// The norm of all gradients: the norm of their norms, on the first one's device.
Tensor total_norm(TensorsView grads, double p) {
  Tensors norms;
  for (const Tensor& g : grads) {
    const Tensor norm = ops::to_device(ops::norm(g, p), grads[0].device(), false);
    norms.push_back(ops::to_dtype(norm, grads[0].dtype()));
  }
  return ops::norm(ops::stack(norms, 0), p);  // side by side in one launch
}

}  // namespace

Tensor clip_grad_norm(TensorsView params, double max_norm, double norm_type,
                      bool error_if_nonfinite) {
  GradMode no_grad(false);
  const Tensors grads = gradients(params);
  if (grads.empty()) return ops::zeros(Dims{});
  const Tensor total = total_norm(grads, norm_type);
  if (error_if_nonfinite) {
    double value;
    const Tensor host = ops::to_dtype(ops::to_device(total, kCpu, false), Dtype::f64);
    value = *host.data_as<double>();
    check(std::isfinite(value), Code::non_finite, "The total norm of order ", norm_type,
          " for gradients from `parameters` is ", value, ", so it cannot be clipped");
  }
  const Tensor room = ops::div(wrapped_number(max_norm), ops::add(total, wrapped_number(1e-6)));
  const Tensor scale = ops::clamp(room, {}, wrapped_number(1.0));
  for (const Tensor& g : grads) ops::mul_(g, ops::to_device(scale, g.device(), true));
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
