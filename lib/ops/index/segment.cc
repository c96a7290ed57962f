// What segments of elements along a dimension come to, each of its own length; made of operations.
#include <cmath>

#include "base/error.h"
#include "flambeau/arrange.h"
#include "ops/formula.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

struct Rule {  // that of scatter_reduce, and what an empty segment comes to
  int32_t joined;
  double empty;
};

Rule rule_of(int32_t reduce) {
  switch (reduce) {
    case FLAM_SEGMENT_SUM:
      return {FLAM_SCATTER_SUM, 0};
    case FLAM_SEGMENT_MEAN:
      return {FLAM_SCATTER_SUM, NAN};
    case FLAM_SEGMENT_MAX:
      return {FLAM_SCATTER_AMAX, -INFINITY};
    case FLAM_SEGMENT_MIN:
      return {FLAM_SCATTER_AMIN, INFINITY};
    case FLAM_SEGMENT_PROD:
      return {FLAM_SCATTER_PROD, 1};
  }
  fail(Code::invalid_argument, "unsupported reduction given: ", reduce,
       "; it is sum, mean, max, min or prod");
}

void check_values(const Tensor& given, bool lengths, int64_t size, int64_t axis) {
  const Tensor none = num(int64_t{0}), each = lengths ? given : diff(given);
  check(!is_true(any(lt(each, none))), Code::invalid_argument, "segment_reduce(): ",
        lengths ? "lengths contains negative value!" : "offsets must not fall");
  const int64_t last[] = {-1};
  if (lengths) {
    return check(!is_true(any(ne(sum(given, last), num(size)))), Code::invalid_argument,
                 "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(",
                 axis, ") = ", size, " when !unsafe.");
  }
  check(!is_true(any(logical_or(lt(given, none), gt(given, num(size))))), Code::invalid_argument,
        "segment_reduce(): offsets must lie from 0 to data.size(", axis, ") = ", size);
}

// Where segments begin and the last one ends: rising, inside the data.
Tensor cuts(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int64_t axis,
            bool unsafe) {
  check(lengths || offsets, Code::invalid_argument,
        "segment_reduce(): Either lengths or offsets must be defined.");
  const Tensor given = detach(lengths ? lengths : offsets);
  const DimsView lead = data.sizes().first(size_t(axis));
  check(given.dim() == axis + 1 && std::ranges::equal(given.sizes().first(size_t(axis)), lead),
        Code::shape, "segment_reduce(): expected lengths or offsets of shape [*", ShapeText{lead},
        ", segments] for axis ", axis, " of ", data, ", but got ", given);
  check(given.dtype() == Dtype::i64 || given.dtype() == Dtype::i32, Code::dtype,
        "segment_reduce(): lengths and offsets must be int64 or int32, but got ",
        name_of(given.dtype()));
  check(lengths || given.size(-1) > 0, Code::shape,
        "segment_reduce(): offsets must hold at least where the last segment ends");
  const int64_t size = data.size(axis);
  if (!unsafe) check_values(given, bool(lengths), size, axis);
  const Tensor none = num(int64_t{0});
  Tensor found = to_dtype(given, Dtype::i64);
  if (lengths) {
    Dims one(given.sizes());
    one.back() = 1;
    const Tensor begin = full(one, none, Dtype::i64, given.device());
    // A length beyond the data ends with it, before the sum could run over.
    const Tensor parts[] = {begin, clamp(found, none, num(size))};
    found = cumsum(cat(parts, -1), -1);
  } else if (unsafe) {
    found = std::get<0>(cummax(found, -1));
  }
  return clamp(found, none, num(size));
}

// The same in every place of the dimensions behind the axis.
Tensor spread(const Tensor& t, const Tensor& data, int64_t axis) {
  Dims shape(t.sizes());
  shape.resize(size_t(data.dim()), 1);
  Dims whole = shape;
  for (int64_t d = axis + 1; d < data.dim(); ++d) whole[size_t(d)] = data.size(d);
  return expand(reshape(t, shape), whole);
}

}  // namespace

Tensor segment_reduce(const Tensor& data, int32_t reduce, const Tensor& lengths,
                      const Tensor& offsets, int64_t axis, bool unsafe,
                      std::optional<double> initial) {
  const Call c{op::segment_reduce, {data, lengths, offsets}};
  const Rule rule = rule_of(reduce);
  check(is_floating(data.dtype()), Code::dtype, "segment_reduce(): not implemented for ",
        name_of(data.dtype()), "; data must be floating point");
  if (data.element_size() < 4) {  // sums, products and counts beyond 2,048 in f32, rounded once
    const Tensor wide = to_dtype(data, Dtype::f32);
    return to_dtype(segment_reduce(wide, reduce, lengths, offsets, axis, unsafe, initial),
                    data.dtype());
  }
  check(data.dim() > 0, Code::shape, "segment_reduce(): data must have at least one dimension");
  const int64_t d = wrap_dim(axis, data.dim());
  const Tensor edges = cuts(data, lengths, offsets, d, unsafe);
  const bool mean = reduce == FLAM_SEGMENT_MEAN;
  const Tensor first = num(initial ? *initial : mean ? 0.0 : rule.empty);
  Dims places(edges.sizes());
  places.back() = data.size(d);
  const Tensor place = contiguous(
      expand(arange(num(int64_t{0}), num(data.size(d)), num(int64_t{1}), Dtype::i64, data.device()),
             places));
  // Segment 0 is what lies before the first cut, and one more what lies behind the last.
  const Tensor segment = searchsorted(edges, place, false, true);
  const int64_t segments = edges.size(-1) - 1;
  Dims held(data.sizes());
  held[size_t(d)] = segments + 2;
  const Tensor begun = full(held, first, data.dtype(), data.device());
  const Tensor joined = scatter_reduce(begun, d, spread(segment, data, d), data, rule.joined, true);
  const Tensor found = narrow(joined, d, 1, segments);
  if (!mean) return contiguous(found);
  const Tensor count = spread(diff(edges), data, d);
  const Tensor by = clamp_min(to_dtype(count, data.dtype()), num(1.0));
  const Tensor nothing = initial ? found : full_like(found, num(rule.empty));
  return where(eq(count, num(int64_t{0})), nothing, div(found, by));
}

}  // namespace flambeau::ops
