// Running extremes: each result's gradient goes back to where it was taken.
#include <limits>

#include "base/error.h"
#include "kernels/scan/scan.h"
#include "kernels/scan/scan_extreme.h"
#include "ops/call.h"
#include "ops/formula.h"
#include "ops/scalar_name.h"

namespace flambeau::ops {

namespace {

template <Name N> struct TakenBackward {
  Saved at;
  int64_t dim;
  static constexpr const char* name = N.text;
  Tensors operator()(TensorsView dy) const {
    if (!dy[0]) return {};
    const Tensor from = at;
    return {scatter_add(zeros(from.sizes(), dy[0].dtype(), dy[0].device()), dim, from, dy[0])};
  }
};

template <Name N>
std::tuple<Tensor, Tensor> running(Form op, const Kernel& k, const Tensor& x, int64_t dim) {
  const int64_t d = wrap_dim(dim, x.dim());
  Call c{op, {x}};
  Tensor ys[] = {flambeau::empty(x.sizes(), x.dtype(), c.device()),
                 flambeau::empty(x.sizes(), Dtype::i64, c.device())};
  run_scan_extreme(op, k, ys[0], ys[1], x, d);
  if (is_floating(x.dtype())) c.track_all(ys, TakenBackward<N>{c.save(ys[1]), d});
  return {ys[0], ys[1]};
}

// Stands for the logarithm of 0 where an infinity would make NaN of a difference.
double least(Dtype dtype) {
  return dtype == Dtype::f64    ? std::numeric_limits<double>::lowest()
         : dtype == Dtype::f16  ? -65504.0
         : dtype == Dtype::bf16 ? -0x1.fep127
                                : double(std::numeric_limits<float>::lowest());
}

// dx[i] = sum over j >= i of dy[j] exp(x[i] - y[j]); gradients of either sign apart, so that the
// sum of exponentials never overflows.
struct LogcumsumexpBackward {
  Saved x, y;
  int64_t dim;
  static constexpr auto name = "LogcumsumexpBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x, out = y;
    if (in.numel() == 0) return {zeros_as(dy)};
    const Dims along{dim};
    auto back = [&](const Tensor& mask, const Tensor& g) {  // of gradients above 0
      const Tensor logs = where(mask, log(where(mask, g, num(int64_t{1}))), num(least(g.dtype())));
      return exp(add(flip(logcumsumexp(flip(sub(logs, out), along), dim), along), in));
    };
    const Tensor zero = num(int64_t{0});
    return {sub(back(gt(dy, zero), dy), back(lt(dy, zero), neg(dy)))};
  }
};

}  // namespace

std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) {
  return running<"CummaxBackward0">(op::cummax, kCummax, x, dim);
}
std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) {
  return running<"CumminBackward0">(op::cummin, kCummin, x, dim);
}

Tensor logcumsumexp(const Tensor& x, int64_t dim, Into into) {
  check(is_floating(x.dtype()), Code::dtype, "logcumsumexp(): not implemented for ",
        name_of(x.dtype()));
  const Tensor* out = target_of(into);
  check(!out || out->dtype() == x.dtype(), Code::dtype, "expected scalar_type ",
        scalar_name(x.dtype()), " but found ", scalar_name(out ? out->dtype() : x.dtype()),
        " in out of logcumsumexp");
  const int64_t d = wrap_dim(dim, x.dim());
  Call c{op::logcumsumexp.to(into), {x}};
  Saved in = c.save(c[0]);
  Tensor y = c.output(c[0].sizes());
  run_scan(op::logcumsumexp, kLogcumsumexp, y, c[0], d, false);
  LogcumsumexpBackward gradient{std::move(in), c.save_output(y), d};
  return c.track(std::move(y), std::move(gradient));
}

}  // namespace flambeau::ops
