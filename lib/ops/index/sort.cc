// Sorting and picking by order. Whatever is picked carries its gradient back to where it was.
#include "kernels/sort/sort.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/call.h"
#include "ops/formula.h"
#include "ops/reduce/reduced_shape.h"

namespace flambeau::ops {

namespace {

template <Name N> struct PlacedBackward {
  Saved at;  // shape of the operand but along dim
  Dims sizes;
  int64_t dim;
  static constexpr const char* name = N.text;
  Tensors operator()(TensorsView dy) const {
    if (!dy[0]) return {};
    const Tensor from = at;  // no place twice, and all of them where the whole line is sorted
    const bool whole = std::ranges::equal(from.sizes(), sizes);
    const Tensor dx = whole ? flambeau::empty(sizes, dy[0].dtype(), dy[0].device())
                            : zeros(sizes, dy[0].dtype(), dy[0].device());
    return {scatter_(dx, dim, from, reshape(dy[0], from.sizes()))};
  }
};

struct Picked {
  Tensor values, at;
};

// The range of the sorted dimension; `keepdim` false drops the dimension.
template <Name N> Picked picked(Call& c, int64_t dim, const SortRange& range, bool keepdim) {
  const Tensor& x = c[0];
  Dims sizes(x.sizes()), kept;
  const int64_t d = wrap_dim(dim, x.dim());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (int64_t(i) == d) sizes[i] = range.count;
    if (keepdim || int64_t(i) != d) kept.push_back(sizes[i]);
  }
  const Tensor like = range.count == (x.dim() ? x.size(d) : 1) ? flambeau::empty_like(x) : Tensor();
  const Tensor values = like ? like : flambeau::empty(sizes, x.dtype(), c.device());
  const Tensor at =
      like ? flambeau::empty_strided(like.sizes(), like.strides(), Dtype::i64, c.device())
           : flambeau::empty(sizes, Dtype::i64, c.device());
  run_sort(c.op(), values, at, x, d, range);
  Tensor ys[] = {alias(values), alias(at)};
  if (!keepdim) {
    for (Tensor& y : ys) y = alias(y, kept, contiguous_strides(kept), y.offset());
  }
  if (is_floating(x.dtype())) {
    c.track_all(ys, PlacedBackward<N>{c.save(at), Dims(x.sizes()), d});
  }
  return {ys[0], ys[1]};
}

int64_t length_along(const Tensor& x, int64_t dim) {
  const int64_t d = wrap_dim(dim, x.dim());
  return x.dim() ? x.size(d) : 1;
}

void check_numbers(const char* op, const Tensor& x) {
  check(x.dtype() != Dtype::boolean, Code::dtype, op,
        "(): not implemented for bool; convert it: x.to(int32)");
}

void check_reducible(const char* op, const Tensor& x, int64_t dim) {
  check(length_along(x, dim) > 0, Code::index, op, "(): Expected reduction dim ",
        wrap_dim(dim, x.dim()), " to have non-zero size.");
}

// All elements that equal the middle one share its gradient.
template <Name N> struct MiddleBackward {
  Saved x, y;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    const Tensor in = x, middle = y;
    const Tensor same = logical_or(eq(in, middle), logical_and(isnan(in), isnan(middle)));
    return {keep_where(same, div(dy, sum(same, {}, false, dy.dtype())))};
  }
};

template <Name N> Tensor middle_of_all(const Op& op, const Tensor& x, Middle middle) {
  check_numbers(op, x);
  Call c{op, {x}};
  Tensor y = flambeau::empty({}, x.dtype(), c.device());
  if (x.numel() == 0) {
    check(is_floating(x.dtype()), Code::shape, op, "(): there is no middle of nothing: ", x);
    fill_(y, num(double(NAN)));
    return c.constant(std::move(y));
  }
  const Tensor flat = x.is_contiguous() ? x : contiguous(detach(x));
  const Dims one{1}, all{x.numel()};
  run_sort(op, alias(y, one, one, y.offset()), {}, alias(flat, all, one, flat.offset()), 0,
           {.middle = middle});
  if (!is_floating(x.dtype())) return c.constant(std::move(y));
  return c.track(y, MiddleBackward<N>{c.save(x), c.save_output(y)});
}

template <Name N> std::tuple<Tensor, Tensor> middle_along(Form op, const Tensor& x, int64_t dim,
                                                          bool keepdim, Middle middle) {
  check_numbers(op, x);
  check_reducible(op, x, dim);
  Call c{op, {x}};
  const Picked y = picked<N>(c, dim, {.middle = middle}, keepdim);
  return {y.values, y.at};
}

}  // namespace

std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim, bool descending, bool) {
  Call c{op::sort, {x}};
  const Picked y = picked<"SortBackward0">(
      c, dim, {.count = length_along(x, dim), .descending = descending}, true);
  return {y.values, y.at};
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending, bool) {
  Call c{op::argsort, {x}};
  Tensor at = flambeau::empty_strided(x.sizes(), dense_strides(x), Dtype::i64, c.device());
  run_sort(op::argsort, {}, at, x, dim, {.count = length_along(x, dim), .descending = descending});
  return c.constant(std::move(at));
}

Tensor msort(const Tensor& x, Into) { return std::get<0>(sort(x, 0)); }

std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool) {
  check_numbers(op::topk, x);
  const int64_t n = length_along(x, dim);
  check(k >= 0 && k <= n, Code::index, "topk(): selected index k out of range: ", k, " of ", n,
        " elements");
  Call c{op::topk, {x}};
  const Picked y =
      picked<"TopkBackward0">(c, dim, {.count = x.dim() ? k : 1, .descending = largest}, true);
  return {y.values, y.at};
}

std::tuple<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  check_numbers(op::kthvalue, x);
  check_reducible(op::kthvalue, x, dim);
  check(k >= 1 && k <= length_along(x, dim), Code::index,
        "kthvalue(): selected number k out of range for dimension ", wrap_dim(dim, x.dim()));
  Call c{op::kthvalue, {x}};
  const Picked y = picked<"KthvalueBackward0">(c, dim, {.first = k - 1}, keepdim);
  return {y.values, y.at};
}

Tensor median(const Tensor& x) {
  return middle_of_all<"MedianBackward0">(op::median, x, Middle::nan_wins);
}
Tensor nanmedian(const Tensor& x) {
  return middle_of_all<"NanmedianBackward0">(op::nanmedian, x, Middle::nan_out);
}

std::tuple<Tensor, Tensor> median_dim(const Tensor& x, int64_t dim, bool keepdim) {
  return middle_along<"MedianBackward1">(op::median, x, dim, keepdim, Middle::nan_wins);
}
std::tuple<Tensor, Tensor> nanmedian_dim(const Tensor& x, int64_t dim, bool keepdim) {
  return middle_along<"NanmedianBackward1">(op::nanmedian, x, dim, keepdim, Middle::nan_out);
}

// In the sorted line a run of equals that ends at i began where the last change was; the first of
// the longest runs has the least value.
std::tuple<Tensor, Tensor> mode(const Tensor& x, int64_t dim, bool keepdim) {
  check_reducible(op::mode, x, dim);
  if (x.dim() == 0) {
    return {clone(x), zeros({}, Dtype::i64, x.device())};
  }
  Tensor at;
  {
    const GradMode off(false);
    const auto [line, from] = sort(transpose(x, dim, -1));
    const int64_t n = line.size(-1);
    const Tensor place = arange(num(int64_t{0}), num(n), num(int64_t{1}), Dtype::i64, x.device());
    const Tensor changes = ne(narrow(line, -1, 1, n - 1), narrow(line, -1, 0, n - 1));
    Dims first(line.sizes());
    first.back() = 1;
    const Tensor parts[] = {zeros(first, Dtype::i64, x.device()),
                            mul(changes, narrow(place, 0, 1, n - 1))};
    const Tensor began = std::get<0>(cummax(cat(parts, -1), -1));
    const Tensor end = std::get<1>(max_dim(sub(place, began), -1, true));
    at = transpose(gather(from, -1, end), dim, -1);
  }
  const Tensor values = gather(x, dim, at);
  // No view of what the values keep.
  if (keepdim) return {values, alias(contiguous(at))};
  return {squeeze(values, {&dim, 1}), alias(squeeze(at, {&dim, 1}))};
}

}  // namespace flambeau::ops
