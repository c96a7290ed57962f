// Softmax and its logarithm along one dimension.
#include "base/error.h"
#include "ops/formula.h"
#include "ops/nn/rows.h"

namespace flambeau::ops {

namespace {

Tensor backward_rows(const char* op, const Kernel& k, const Tensor& dy, const Tensor& y,
                     int64_t dim) {
  const Tensor dx = flambeau::empty(y.sizes(), y.dtype(), y.device());
  run_row(op, k, y.dtype(), dim, {out_row(dx), row(dy), row(y)});
  return dx;
}

struct SoftmaxBackward {
  Saved y;
  int64_t dim;
  static constexpr auto name = "SoftmaxBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor p = y;
    if (!modes.grad) return {backward_rows(op::softmax, kSoftmaxBackward, dy, p, dim)};
    return {mul(sub(dy, sum(mul(dy, p), {&dim, 1}, true)), p)};
  }
};

struct LogSoftmaxBackward {
  Saved y;
  int64_t dim;
  static constexpr auto name = "LogSoftmaxBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor log_p = y;
    if (!modes.grad) return {backward_rows(op::log_softmax, kLogSoftmaxBackward, dy, log_p, dim)};
    return {sub(dy, mul(exp(log_p), sum(dy, {&dim, 1}, true)))};
  }
};

template <class Backward>
Tensor normalised(Form op, const Kernel& k, const Tensor& input, int64_t dim, Dtype dtype) {
  Call c{op, {input}};
  if (dtype != Dtype::none) c.convert(0, dtype);
  const int64_t d = wrap_dim(dim, input.dim());
  Tensor y = c.output(input.sizes(), c[0].dtype());
  run_row(op, k, c[0].dtype(), d, {out_row(y), row(c[0])});
  Backward gradient{c.save_output(y), d};
  return c.track(std::move(y), std::move(gradient));
}

}  // namespace

Tensor softmax(const Tensor& input, int64_t dim, Dtype dtype, Into) {
  return normalised<SoftmaxBackward>(op::softmax, kSoftmax, input, dim, dtype);
}

Tensor log_softmax(const Tensor& input, int64_t dim, Dtype dtype, Into) {
  return normalised<LogSoftmaxBackward>(op::log_softmax, kLogSoftmax, input, dim, dtype);
}

}  // namespace flambeau::ops
