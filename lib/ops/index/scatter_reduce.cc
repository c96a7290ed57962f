// Values joined with what is where an index names, by several rules; and elements repeated as often
// as a tensor says.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "flambeau/arrange.h"
#include "flambeau/binary.h"
#include "ops/call.h"
#include "ops/formula.h"
#include "ops/index/indices.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

// Where nothing of the operand takes part: what leaves the rule's result alone.
Tensor neutral(int32_t rule, Dtype dtype) {
  if (rule == FLAM_SCATTER_PROD) return num(int64_t{1});
  if (rule != FLAM_SCATTER_AMAX && rule != FLAM_SCATTER_AMIN) return num(int64_t{0});
  const bool least = rule == FLAM_SCATTER_AMAX;
  if (is_floating(dtype)) return num(least ? -double(INFINITY) : double(INFINITY));
  return with_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return num(int64_t(least ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max()));
  });
}

const Kernel& kernel_of(int32_t rule) {
  return rule == FLAM_SCATTER_PROD   ? kIndexMul
         : rule == FLAM_SCATTER_AMAX ? kIndexMax
         : rule == FLAM_SCATTER_AMIN ? kIndexMin
                                     : kIndexAdd;
}

Tensor counts_of(const Tensor& x, int64_t dim, const Tensor& at, bool include_self, Dtype dtype) {
  const Tensor own = full(x.sizes(), num(int64_t{include_self}), dtype, x.device());
  const Tensor each = ones(at.sizes(), dtype, x.device());
  return clamp_min(scatter_add(own, dim, at, each), num(int64_t{1}));
}

struct ScatterReduceBackward {
  Saved x, src, y;
  Saved at;
  int64_t dim;
  int32_t rule;
  bool include_self;
  static constexpr auto name = "ScatterReduceBackward0";

  // The part of src that the index uses; its gradient is widened again.
  Tensor used() const {
    Tensor part = src;
    for (int64_t i = 0; i < part.dim(); ++i) {
      if (part.size(i) != at.unchecked().size(i)) part = narrow(part, i, 0, at.unchecked().size(i));
    }
    return part;
  }

  Tensors shared(const Tensor& dy) const {  // amax, amin: equals share it
    const Tensor result = y;
    const Tensor own = to_dtype(eq(x, result), dy.dtype());
    const Tensor theirs = to_dtype(eq(used(), gather(result, dim, at)), dy.dtype());
    const Tensor first = include_self ? own : scatter(own, dim, at, num(int64_t{0}));
    const Tensor each = div(dy, clamp_min(scatter_add(first, dim, at, theirs), num(int64_t{1})));
    return {mul(each, own), Tensor(), mul(gather(each, dim, at), theirs)};
  }

  Tensor spread(const Tensor& each, const Tensor& like) const {  // sums of what is joined, to each
    return gather(scatter_add(zeros_as(like), dim, at, each), dim, at);
  }

  Tensors product(const Tensor& dy) const {
    const Tensor in = x, factors = used(), one = num(int64_t{1}), none = num(int64_t{0});
    const Tensor own = where(eq(in, none), one, in);
    auto joined = [&](const Tensor& a, const Tensor& b) {
      return mul(dy, scatter_reduce(a, dim, at, b, rule, include_self));
    };
    const Tensor zero = eq(factors, none);
    const Tensor zeros_there = spread(to_dtype(zero, dy.dtype()), in);
    const Tensor others = gather(joined(in, where(zero, one, factors)), dim, at);
    Tensor all = div(gather(joined(in, factors), dim, at), where(zero, one, factors));
    if (modes.grad) {  // of two zeros each one's gradient is 0 and has a slope in the other
      const Tensor other = sub(spread(where(zero, factors, none), in), factors);
      const Tensor paired = logical_and(zero, eq(zeros_there, num(int64_t{2})));
      all = where(paired, mul(others, other), all);
    }
    const Tensor only = logical_and(zero, eq(zeros_there, one));
    return {div(joined(own, factors), own), Tensor(), where(only, others, all)};
  }

  Tensors operator()(const Tensor& dy) const {
    Tensors g;
    if (rule == FLAM_SCATTER_AMAX || rule == FLAM_SCATTER_AMIN) {
      g = shared(dy);
    } else if (rule == FLAM_SCATTER_PROD) {
      g = product(dy);
    } else {
      const Tensor each = rule == FLAM_SCATTER_MEAN
                              ? div(dy, counts_of(dy, dim, at, include_self, Dtype::f32))
                              : dy;
      g = Tensors{each, Tensor(), gather(each, dim, at)};
    }
    if (!include_self) g[0] = scatter(g[0], dim, at, num(0.0));
    if (!wanted(2)) {
      g[2] = Tensor();
      return g;
    }
    for (int64_t i = 0; i < g[2].dim(); ++i) {  // 0 where src is larger than the index
      Dims rest(g[2].sizes());
      rest[size_t(i)] = src.unchecked().size(i) - at.unchecked().size(i);
      const Tensor parts[] = {g[2], zeros(rest, dy.dtype(), dy.device())};
      if (rest[size_t(i)]) g[2] = cat(parts, i);
    }
    return g;
  }
};

}  // namespace

Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                      int32_t rule, bool include_self, Into into) {
  check(rule >= FLAM_SCATTER_SUM && rule <= FLAM_SCATTER_AMIN, Code::invalid_argument,
        "reduce argument must be either sum, prod, mean, amax or amin, got ", rule);
  check(x.dtype() == src.dtype(), Code::dtype,
        "scatter(): Expected self.dtype to be equal to src.dtype, got ", name_of(x.dtype()),
        " and ", name_of(src.dtype()));
  check(rule != FLAM_SCATTER_MEAN || x.dtype() != Dtype::boolean, Code::dtype,
        "scatter_reduce(): mean is not implemented for bool; convert the operands: x.float()");
  const int64_t d = wrap_dim(dim, x.dim());
  Call c{op::scatter_reduce.to(into), {x, index, src}, Devices::exact};
  check_no_overlap(op::scatter_reduce.to(into), {&index, &src});
  const Tensor at = index_operand(op::scatter_reduce, x, index);
  Tensor part = src;
  check(
      !at.numel() || src.dim() == at.dim(), Code::shape,
      "scatter_reduce(): Index tensor must have the same number of dimensions as src tensor, got ",
      ShapeText{at.sizes()}, " and ", ShapeText{src.sizes()});
  for (int64_t i = 0; i < src.dim() && src.dim() == at.dim(); ++i) {
    check(at.size(i) <= src.size(i), Code::shape, "scatter_reduce(): Expected index ",
          ShapeText{at.sizes()}, " to be no larger than src ", ShapeText{src.sizes()});
    if (part.size(i) != at.size(i)) part = narrow(part, i, 0, at.size(i));
  }
  const bool half = x.dtype() == Dtype::f16 || x.dtype() == Dtype::bf16;
  const Dtype work = half ? Dtype::f32 : x.dtype();
  Tensor y;
  {
    const GradMode off(false);
    part = to_dtype(part, work);
    y = to_dtype(x, work);
    if (y.storage() == x.storage()) y = clone(y);
    if (at.numel()) {
      gather(y, d, at);  // checks indices and shapes
      if (!include_self) {
        run_scatter(op::scatter_reduce, kIndexSet, y, d, at,
                    to(neutral(rule, work), x.device(), work));
      }
      run_scatter(op::scatter_reduce, kernel_of(rule), y, d, at, part);
    }
    if (rule == FLAM_SCATTER_MEAN) {
      y = div(y, counts_of(x, d, at, include_self, work),
              is_floating(work) ? FLAM_ROUNDING_UNSPECIFIED : FLAM_ROUNDING_FLOOR);
    }
  }
  y = half ? to_dtype(y, x.dtype()) : alias(y);
  if (!is_floating(x.dtype())) return c.constant(std::move(y));
  ScatterReduceBackward gradient{c.save(x), c.save(src), c.save_output(y), c.save(at),
                                 d,         rule,        include_self};
  return c.track(std::move(y), std::move(gradient));
}

Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                    int32_t rule, bool include_self, Into into) {
  check(rule > FLAM_SCATTER_SUM && rule <= FLAM_SCATTER_AMIN, Code::invalid_argument,
        "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", rule);
  check(index.dim() <= 1, Code::index, "index_reduce(): Index is supposed to be a vector, but got ",
        index);
  check(x.dtype() == source.dtype(), Code::dtype, "index_reduce(): self (", name_of(x.dtype()),
        ") and source (", name_of(source.dtype()), ") must have the same scalar type");
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  const Call c{op::index_reduce.to(into), {x, index, source}, Devices::exact};
  check_no_overlap(op::index_reduce.to(into), {&index, &source});
  const Tensor own = kept_operand(c, 0), in = x.dim() ? own : reshape(own, Dims{1});
  Dims sizes(in.sizes()), row(in.sizes().size(), 1);
  sizes[d] = row[d] = index.numel();
  check(source.numel() == numel_of(sizes) && (source.dim() == 0 || Dims(source.sizes()) == sizes),
        Code::shape,
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
        "self.shape = ",
        ShapeText{x.sizes()}, " source.shape = ", ShapeText{source.sizes()},
        ": index_reduce expected ", ShapeText{sizes}, ", one slice for each index");
  const Tensor at = expand(reshape(index, row), sizes);
  const Tensor y = scatter_reduce(in, int64_t(d), at, reshape(source, sizes), rule, include_self);
  return x.dim() ? y : reshape(y, Dims{});
}

Tensor repeat_interleave_each(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim,
                              std::optional<int64_t> output_size) {
  check(repeats.dim() <= 1, Code::shape, "repeats must be 0-dim or 1-dim tensor");
  check(repeats.dtype() == Dtype::i64 || repeats.dtype() == Dtype::i32, Code::dtype,
        "repeats has to be Long or Int tensor");
  const Call c{op::repeat_interleave_each, {x, repeats}};
  const Tensor in = dim ? x : ravel(x);
  const int64_t d = dim ? wrap_dim(*dim, x.dim()) : 0;
  const int64_t n = in.size(d);
  check(repeats.numel() == 1 || repeats.numel() == n, Code::shape,
        "repeats must have the same size as input along dim, but got repeats.size(0) = ",
        repeats.numel(), " and input.size(", d, ") = ", n);
  Tensor from;
  {
    const GradMode off(false);
    const Tensor counts = to(ravel(repeats), x.device(), Dtype::i64, false, false);  // of a number
    const Tensor times = expand(counts, Dims{n});
    check(n == 0 || read_integer(min(times)) >= 0, Code::invalid_argument,
          "repeats can not be negative");
    const Tensor ends = cumsum(times, 0);
    const int64_t total = output_size ? *output_size : n ? read_integer(select(ends, 0, n - 1)) : 0;
    const Tensor place =
        arange(num(int64_t{0}), num(total), num(int64_t{1}), Dtype::i64, x.device());
    from = searchsorted(ends, place, false, true);
  }
  return index_select(in, d, from);
}

}  // namespace flambeau::ops
