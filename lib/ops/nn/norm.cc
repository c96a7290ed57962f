// Layer norm, by rows: statistics in f32 (f64 for f64), a gradient in one pass over each row.
#include "base/error.h"
#include "ops/formula.h"
#include "ops/nn/normalized.h"
#include "ops/nn/rows.h"

namespace flambeau::ops {

namespace {

// Whether a half operand comes with f32 weights, as under autocast of the cpu.
bool has_wider(const Call& c) {
  bool wider = false;
  for (size_t i = 1; i < c.size(); ++i) wider |= c[i] && c[i].dtype() == Dtype::f32;
  return wider && is_half(c[0].dtype());
}

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
    const Tensor before = gathered_gradient(input, dy);
    g[0] = before ? before : flambeau::empty(input.sizes(), dy.dtype(), dy.device());
    for (size_t i : {size_t(1), size_t(2)}) {
      if (wanted(i)) g[i] = flambeau::empty(normalized, dy.dtype(), dy.device());
    }
    const auto as = [](const Tensor& t, const Dims& sizes) {
      return t ? alias(t, sizes, contiguous_strides(sizes), t.offset()) : t;
    };
    const Tensor dx = as(g[0], flat), dw = as(g[1], Dims{n}), db = as(g[2], Dims{n}),
                 there = as(before, flat);
    run_row(op::layer_norm, kLayerNormBackward, dy.dtype(), 1,
            {out_row(dx), out_total(dw), out_total(db, dy2), row(dy2), row(x2), each(r), shared(w1),
             each(mu), row(there)});
    if (before) receivers->added(0);
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
