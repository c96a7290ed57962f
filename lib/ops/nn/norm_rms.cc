// Root mean square normalisation: one kernel over rows forwards, one backwards; a gradient that is
// differentiated again is written with ops.
#include <limits>

#include "base/error.h"
#include "ops/formula.h"
#include "ops/nn/normalized.h"
#include "ops/nn/ordered.h"
#include "ops/nn/rows.h"

namespace flambeau::ops {

namespace {

struct RmsNormBackward {
  Saved x, weight, rstd;  // rstd: [rows]
  int64_t rows, n;
  double eps;
  static constexpr auto name = "FusedRmsNormBackward0";

  Tensors operator()(const Tensor& dy) const {
    return modes.grad ? differentiable(dy) : fused_pass(dy);
  }

  Tensors fused_pass(const Tensor& dy) const {
    const Tensor input = x, w = weight, r = rstd;
    const Dims flat{rows, n};
    const Tensor dy2 = contiguous(reshape(dy, flat)), x2 = contiguous(reshape(input, flat));
    const Tensor w1 = w ? contiguous(reshape(w, Dims{n})) : w;
    const Tensor before = gathered_gradient(input, dy),
                 own = before ? before : flambeau::empty(input.sizes(), dy.dtype(), dy.device());
    const auto as_rows = [&](const Tensor& t) {
      return t ? alias(t, flat, contiguous_strides(flat), t.offset()) : t;
    };
    const Tensor dx = as_rows(own), there = as_rows(before);
    const Tensor dw = wanted(1) ? flambeau::empty(Dims{n}, dy.dtype(), dy.device()) : Tensor();
    const Tensor none;
    run_row(op::rms_norm, kRmsNormBackward, dy.dtype(), 1,
            {out_row(dx), out_total(dw), out_total(none), row(dy2), row(x2), each(r), shared(w1),
             each(none), row(there)});
    if (before) receivers->added(0);
    return {own, dw ? reshape(dw, w.sizes()) : dw};
  }

  Tensors differentiable(const Tensor& dy) const {
    const Dims flat{rows, n};
    const Tensor input = reshape(x, flat), g = reshape(dy, flat);
    const int64_t last = 1;
    const DimsView row_dim(&last, 1);
    const Tensor r = rsqrt(add(mean(mul(input, input), row_dim, true), num(eps)));
    const Tensor hat = mul(input, r);
    const Tensor scaled = weight.defined() ? mul(g, reshape(weight, Dims{n})) : g;
    const Tensor along = mul(hat, mean(mul(scaled, hat), row_dim, true));
    return {reshape(mul(sub(scaled, along), r), dy.sizes()),
            wanted(1) ? of_weight(mul(g, hat)) : Tensor()};
  }

  Tensor of_weight(const Tensor& scaled) const {
    const int64_t first = 0;
    return reshape(sum(scaled, {&first, 1}), weight.unchecked().sizes());
  }
};

// In C order.
Tensor normalized(const Tensor& x, DimsView normalized_shape, const Tensor& weight,
                  std::optional<double> eps) {
  check_normalized(op::rms_norm, x, normalized_shape, {&weight});
  check(is_floating(x.dtype()), Code::dtype, "\"rms_norm\" not implemented for '",
        name_of(x.dtype()), "'");
  Call c{op::rms_norm, {x, weight}};
  if (c[1]) c.convert(1, c[0].dtype());
  const Dtype dtype = c[0].dtype(), wide = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const double own = wide == Dtype::f64 ? std::numeric_limits<double>::epsilon()
                                        : std::numeric_limits<float>::epsilon();
  const int64_t n = numel_of(normalized_shape), rows = n ? x.numel() / n : 0;
  const Dims flat{rows, n};
  GradMode no_grad(false);
  const Tensor x2 = contiguous(reshape(c[0], flat));
  const Tensor w1 = c[1] ? contiguous(reshape(c[1], Dims{n})) : Tensor();
  const Tensor rstd = flambeau::empty(Dims{rows}, wide, x.device());
  Tensor y = c.output(c[0].sizes(), dtype);
  const Tensor y2 = alias(y, flat, contiguous_strides(flat), y.offset());
  const double added = eps.value_or(own);
  run_row(op::rms_norm, kRmsNorm, dtype, 1, {out_row(y2), out_each(rstd), row(x2), shared(w1)},
          {added});
  return c.track(std::move(y),
                 RmsNormBackward{c.save(c[0]), c.save(c[1]), c.save(rstd), rows, n, added});
}

}  // namespace

Tensor rms_norm(const Tensor& x, DimsView normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  const Tensor y = normalized(with_ordered_gradient(x), normalized_shape, weight, eps);
  return in_order(y, is_channels_last(x));
}

}  // namespace flambeau::ops
