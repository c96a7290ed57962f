// Greatest and least elements and where they are. NaN wins; of equals the first is taken, and
// without a position all of them share the gradient.
#include "base/error.h"
#include "kernels/fold/fold.h"
#include "ops/formula.h"
#include "ops/reduce/reduced_shape.h"

namespace flambeau::ops {

namespace {

template <Name N> struct SharedBackward {
  Saved x, y;
  Dims dims, kept;
  bool of_all;  // torch: NaNs share the gradient of max(), and leave none to a dimension's amax()
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    const Tensor operand = x, same = eq(operand, reshape(y, kept));
    const Tensor top = of_all ? logical_or(same, isnan(operand)) : same;
    const Tensor equals = sum(top, dims, true, dy.dtype());
    return {div(keep_where(top, reshape(dy, kept)), equals)};
  }
};

// The gradient goes to the one position that was taken.
template <Name N> struct PickedBackward {
  Saved index;
  Dims sizes, kept;
  size_t dim;
  static constexpr const char* name = N.text;
  Tensors operator()(TensorsView dy) const {
    if (!dy[0]) return {};
    if (sizes.empty()) return {dy[0]};
    return {scatter_(zeros(sizes, dy[0].dtype(), dy[0].device()), int64_t(dim),
                     reshape(index, kept), reshape(dy[0], kept))};
  }
};

void check_not_empty(const char* op, const Tensor& x, const ReducedShape& over, bool all) {
  if (over.count != 0) return;
  if (all || over.dims.size() != 1) {
    fail(all ? Code::shape : Code::index, op,
         "(): Expected reduction dim to be specified for input.numel() == 0. "
         "Specify the reduction dim with the 'dim' argument. Got ",
         describe(x));
  }
  fail(Code::index, op, "(): Expected reduction dim ", over.dims[0], " to have non-zero size.");
}

template <Name N>
Tensor extreme(Form op, const Kernel& k, const Tensor& input, DimsView dim, bool keepdim,
               bool of_all = false) {
  Call c{op, {input}};
  const ReducedShape over(input, dim, keepdim);
  check_not_empty(op, input, over, dim.empty());
  Tensor y = c.output(over.sizes, input.dtype());
  run_fold(op, k, input.dtype(), y, input, over.dims);
  if (!is_floating(input.dtype())) return c.constant(std::move(y));
  SharedBackward<N> gradient{c.save(input), c.save_output(y), over.dims, over.kept, of_all};
  return c.track(std::move(y), std::move(gradient));
}

template <Name N> std::tuple<Tensor, Tensor> extreme_along(Form op, const Kernel& k,
                                                           const Tensor& input, int64_t dim,
                                                           bool keepdim) {
  Call c{op, {input}};
  const ReducedShape over(input, {&dim, 1}, keepdim);
  check_not_empty(op, input, over, false);
  Tensor ys[] = {flambeau::empty(over.sizes, input.dtype(), c.device()),
                 flambeau::empty(over.sizes, Dtype::i64, c.device())};
  run_fold(op, k, input.dtype(), ys[0], input, over.dims, {}, {.index = ys[1], .centre = {}});
  if (is_floating(input.dtype())) {
    const size_t d = over.dims.empty() ? 0 : size_t(over.dims[0]);
    c.track_all(ys, PickedBackward<N>{c.save(ys[1]), Dims(input.sizes()), over.kept, d});
  }
  return {ys[0], ys[1]};
}

Tensor position_of(Form op, const Kernel& k, const Tensor& input, std::optional<int64_t> dim,
                   bool keepdim) {
  check(input.dtype() != Dtype::boolean, Code::dtype, op,
        "(): does not support bool input; convert it: x.to(int32)");
  Call c{op, {input}};
  const ReducedShape over(input, dims_of(dim), keepdim);
  if (over.count == 0 && !dim) {
    fail(Code::index, op, "(): Expected reduction dim to be specified for input.numel() == 0.");
  }
  check_not_empty(op, input, over, false);
  Tensor index = c.output(over.sizes, Dtype::i64);
  run_fold(op, k, input.dtype(), {}, input, over.dims, {}, {.index = index, .centre = {}});
  return c.constant(std::move(index));
}

}  // namespace

Tensor max(const Tensor& input, Into) {
  return extreme<"MaxBackward1">(op::max, kMax, input, {}, false, true);
}
Tensor min(const Tensor& input, Into) {
  return extreme<"MinBackward1">(op::min, kMin, input, {}, false, true);
}

Tensor amax(const Tensor& input, DimsView dim, bool keepdim, Into into) {
  return extreme<"AmaxBackward0">(op::amax.to(into), kMax, input, dim, keepdim);
}
Tensor amin(const Tensor& input, DimsView dim, bool keepdim, Into into) {
  return extreme<"AminBackward0">(op::amin.to(into), kMin, input, dim, keepdim);
}

std::tuple<Tensor, Tensor> max_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return extreme_along<"MaxBackward0">(op::max, kMaxIndex, input, dim, keepdim);
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return extreme_along<"MinBackward0">(op::min, kMinIndex, input, dim, keepdim);
}

Tensor argmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim, Into into) {
  return position_of(op::argmax.to(into), kMaxIndex, input, dim, keepdim);
}
Tensor argmin(const Tensor& input, std::optional<int64_t> dim, bool keepdim, Into into) {
  return position_of(op::argmin.to(into), kMinIndex, input, dim, keepdim);
}

}  // namespace flambeau::ops
