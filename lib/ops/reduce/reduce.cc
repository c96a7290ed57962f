// Sums, means, products and counts, and the sum that undoes broadcasting.
#include "base/error.h"
#include "flambeau/binary.h"
#include "graph/root_node.h"
#include "kernels/fold/fold.h"
#include "ops/complex_gate.h"
#include "ops/formula.h"
#include "ops/read.h"
#include "ops/reduce/reduced_shape.h"
#include "ops/scalar_name.h"

namespace flambeau::ops {

namespace {

// Every term gets the gradient of its result, times a constant.
template <Name N> struct SpreadBackward {
  Dims sizes, kept;
  double scale;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    Tensor g = reshape(dy, kept);
    if (scale != 1) g = mul(g, num(scale));
    return {expand(g, sizes)};
  }
};

}  // namespace

}  // namespace flambeau::ops

namespace flambeau {

// Passes begin at the mean of a loss: its share of 1 is a number.
template <> class NodeOf<ops::SpreadBackward<"MeanBackward0">> final : public RootNode {
 public:
  using Spread = ops::SpreadBackward<"MeanBackward0">;
  explicit NodeOf(Spread&& f) : f_(std::move(f)) {}
  const char* name() const override { return Spread::name; }
  Tensors apply(TensorsView dy) override {
    if (dy[0]) return f_(dy[0]);
    const OutputMeta& y = outputs[0];
    return {ops::expand(ops::full(f_.kept, ops::num(f_.scale), y.dtype, y.device), f_.sizes)};
  }
  void release_saved() override {}  // nothing is saved

 private:
  Spread f_;
};

}  // namespace flambeau

namespace flambeau::ops {

namespace {

template <Name N> Tensor spread(Call& c, Tensor y, const ReducedShape& over, double scale) {
  return c.track(std::move(y), SpreadBackward<N>{Dims(c[0].sizes()), over.kept, scale});
}

Dtype sum_dtype(Dtype input, Dtype wanted) {
  return wanted != Dtype::none ? wanted : is_differentiable(input) ? input : Dtype::i64;
}

// Floating terms of an integral result are converted one by one; any other fold converts its
// result.
void convert_terms(Call& c, Dtype result) {
  const bool complex = is_complex(c[0].dtype()) || is_complex(result);
  if (complex || (is_floating(c[0].dtype()) && !is_floating(result))) c.convert(0, result);
}

// ---- products -----------------------------------------------------------------------------------

// The product of all other terms, for each term: exact where terms are 0. The shorter way is taken
// where a look at the terms costs no wait.
Tensor product_of_others(const Tensor& x, const Tensor& y, DimsView dims) {
  if (x.device().is_cpu() && is_true(all(x, {}, false)))
    return div(y, x, FLAM_ROUNDING_UNSPECIFIED);
  const Tensor zero = eq(x, num(int64_t{0}));
  const Tensor zeros_in_slice = sum(zero, dims, true, Dtype::i64);
  const Tensor others = where(zero, num(int64_t{1}), x);
  Tensor nonzero = others;
  for (int64_t d : dims) nonzero = prod(nonzero, d, true, Dtype::none);
  const Tensor only_zero = logical_and(zero, eq(zeros_in_slice, num(int64_t{1})));
  return where(only_zero, nonzero,
               drop_where(ne(zeros_in_slice, num(int64_t{0})), div(nonzero, others)));
}

// The same by definition, in quadratic space: what second derivatives at zeros need.
Tensor product_of_others_by_definition(const Tensor& x, int64_t dim) {
  const int64_t n = x.size(dim);
  const Tensor last = transpose(x, dim, -1);
  const Tensor at = arange(num(int64_t{0}), num(n), num(int64_t{1}), Dtype::i64, x.device());
  const Tensor own = eq(unsqueeze(at, 1), at);
  return transpose(prod(where(own, num(int64_t{1}), unsqueeze(last, -2)), -1, false, Dtype::none),
                   dim, -1);
}

template <Name N> struct ProdBackward {
  Saved x, y;
  Dims kept;
  std::optional<int64_t> dim;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x, result = reshape(y, kept);
    ReducedShape over(in, dims_of(dim), true);
    const Tensor g = reshape(dy, kept);
    if (!modes.grad) return {mul(g, product_of_others(in, result, over.dims))};
    if (is_true(all(in, {}, false))) return {mul(g, div(result, in))};
    if (dim) return {mul(g, product_of_others_by_definition(in, *dim))};
    const Tensor flat = reshape(in, Dims{-1});
    return {mul(g, reshape(product_of_others_by_definition(flat, 0), in.sizes()))};
  }
};

template <Name N> Tensor product(Call& c, std::optional<int64_t> dim, bool keepdim, Dtype dtype) {
  if (dtype == Dtype::none) dtype = c.out_dtype();
  const Dtype result = sum_dtype(c[0].dtype(), dtype);
  if (is_floating(result)) c.convert(0, result);
  convert_terms(c, result);
  const ReducedShape over(c[0], dims_of(dim), keepdim);
  Tensor y = c.output(over.sizes, result);
  run_fold(op::prod, kProd, c[0].dtype(), y, c[0], over.dims);
  ProdBackward<N> gradient{c.save(c[0]), c.save_output(y), over.kept, dim};
  return c.track(std::move(y), std::move(gradient));
}

}  // namespace

Tensor sum(const Tensor& input, DimsView dim, bool keepdim, Dtype dtype, Into into) {
  Call c{op::sum.to(into), {input}};
  if (dtype == Dtype::none) dtype = c.out_dtype();
  const Dtype result = sum_dtype(c[0].dtype(), dtype);
  convert_terms(c, result);
  const ReducedShape over(c[0], dim, keepdim);
  Tensor y = c.output(over.sizes, result);
  run_fold(op::sum, kSum, c[0].dtype(), y, c[0], over.dims);
  return dim.empty() ? spread<"SumBackward0">(c, std::move(y), over, 1)
                     : spread<"SumBackward1">(c, std::move(y), over, 1);
}

Tensor sum_to(const Tensor& x, DimsView sizes) {
  Dims dims;
  const size_t shift = x.sizes().size() - sizes.size();
  for (size_t d = 0; d < x.sizes().size(); ++d) {
    if (d < shift || (sizes[d - shift] == 1 && x.sizes()[d] != 1)) dims.push_back(int64_t(d));
  }
  if (dims.empty()) return reshape(x, sizes);
  // No view where leading dimensions alone go: a leaf keeps its gradient without a copy only if
  // nobody else has it.
  if (size_t(dims.back()) < shift) return sum(x, dims, false, x.dtype());
  return reshape(sum(x, dims, true, x.dtype()), sizes);
}

Tensor nansum(const Tensor& input, DimsView dim, bool keepdim, Dtype dtype, Into) {
  if (is_complex(input.dtype())) check_takes_complex(op::nansum, input.dtype());
  if (!is_floating(input.dtype())) return sum(input, dim, keepdim, dtype);
  const Dtype result = dtype == Dtype::none ? input.dtype() : dtype;  // autocast leaves it alone
  return sum(drop_where(isnan(input), input), dim, keepdim, result);
}

Tensor mean(const Tensor& input, DimsView dim, bool keepdim, Dtype dtype, Into into) {
  const Dtype result = dtype == Dtype::none ? input.dtype() : dtype;
  if (!is_differentiable(result)) {
    fail(Code::dtype,
         "mean(): could not infer output dtype. Input dtype must be either a floating point or "
         "complex dtype. Got: ",
         name_of(result), "; name a floating dtype: mean(x, dtype=float32)");
  }
  Call c{op::mean.to(into), {input}};
  if (!is_floating(input.dtype()) || is_complex(result)) c.convert(0, result);
  const ReducedShape over(c[0], dim, keepdim);
  Tensor y = c.output(over.sizes, result);
  run_fold(op::mean, kMean, c[0].dtype(), y, c[0], over.dims);
  const double scale = 1 / double(over.count);
  return dim.empty() ? spread<"MeanBackward0">(c, std::move(y), over, scale)
                     : spread<"MeanBackward1">(c, std::move(y), over, scale);
}

Tensor prod(const Tensor& input, std::optional<int64_t> dim, bool keepdim, Dtype dtype, Into) {
  Call c{op::prod, {input}};
  return dim ? product<"ProdBackward1">(c, dim, keepdim, dtype)
             : product<"ProdBackward0">(c, dim, keepdim, dtype);
}

static Tensor truth(Form op, const Tensor& input, DimsView dim, bool keepdim, double form,
                    Dtype result) {
  Call c{op, {input}};
  if (is_complex(input.dtype())) c.convert(0, Dtype::boolean);
  const ReducedShape over(c[0], dim, keepdim);
  Tensor y = c.output(over.sizes, result);
  run_fold(op, kTruth, c[0].dtype(), y, c[0], over.dims, {form});
  return c.constant(std::move(y));
}

// Unlike the other reductions, these take a list of no dimensions at its word.
static bool over_none(DimsView dim) { return dim.data() && dim.empty(); }

// torch's legacy: bytes are truths, too.
static Dtype truth_dtype(const Op& op, const Tensor& input, Into into) {
  const Tensor* out = target_of(into);
  check(!out || out->dtype() == Dtype::boolean || out->dtype() == Dtype::u8, Code::dtype, op,
        " only supports bool tensor for result, got: ",
        scalar_name(out ? out->dtype() : Dtype::none));
  const Dtype dtype = out ? out->dtype() : input.dtype();
  return dtype == Dtype::u8 ? Dtype::u8 : Dtype::boolean;
}

Tensor any(const Tensor& input, DimsView dim, bool keepdim, Into into) {
  if (over_none(dim)) return any(unsqueeze(input, -1), Dims{-1}, false, into);
  const Dtype dtype = truth_dtype(op::any, input, into);
  return truth(op::any.to(into), input, dim, keepdim, kAnyTrue, dtype);
}

Tensor all(const Tensor& input, DimsView dim, bool keepdim, Into into) {
  if (over_none(dim)) return all(unsqueeze(input, -1), Dims{-1}, false, into);
  const Dtype dtype = truth_dtype(op::all, input, into);
  return truth(op::all.to(into), input, dim, keepdim, kAllTrue, dtype);
}

Tensor count_nonzero(const Tensor& input, DimsView dim) {
  return truth(op::count_nonzero, input, dim, false, kCountTrue, Dtype::i64);
}

}  // namespace flambeau::ops
