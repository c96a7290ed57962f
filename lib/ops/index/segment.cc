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

Tensor checked_lengths(const Tensor& data, const Tensor& lengths, const Tensor& offsets,
                       int64_t axis, bool unsafe) {
  check(lengths || offsets, Code::invalid_argument,
        "segment_reduce(): Either lengths or offsets must be defined.");
  const Tensor& given = lengths ? lengths : offsets;
  const DimsView lead = data.sizes().first(size_t(axis));
  check(given.dim() == axis + 1 && std::ranges::equal(given.sizes().first(size_t(axis)), lead),
        Code::shape, "segment_reduce(): expected lengths or offsets of shape [*", ShapeText{lead},
        ", segments] for axis ", axis, " of ", data, ", but got ", given);
  const Tensor found = detach(lengths ? lengths : diff(offsets));
  if (unsafe) return found;
  check(!is_true(any(lt(found, num(int64_t{0})))), Code::invalid_argument,
        "segment_reduce(): lengths contains negative value!");
  const int64_t last[] = {-1};
  check(!is_true(any(ne(sum(found, last), num(data.size(axis))))), Code::invalid_argument,
        "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(", axis,
        ") = ", data.size(axis), " when !unsafe.");
  return found;
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
                      const Tensor& indices, const Tensor& offsets, int64_t axis, bool unsafe,
                      std::optional<double> initial) {
  const Call c{op::segment_reduce, {data, lengths, indices, offsets}};
  const Rule rule = rule_of(reduce);
  check(is_floating(data.dtype()), Code::dtype, "segment_reduce(): not implemented for ",
        name_of(data.dtype()), "; data must be floating point");
  check(data.dim() > 0, Code::shape, "segment_reduce(): data must have at least one dimension");
  check(!indices, Code::unsupported,
        "segment_reduce(): indices based reduction is not supported yet.");
  const int64_t d = wrap_dim(axis, data.dim());
  const Tensor each = checked_lengths(data, lengths, offsets, d, unsafe);
  const bool mean = reduce == FLAM_SEGMENT_MEAN;
  const Tensor first = num(initial ? *initial : mean ? 0.0 : rule.empty);
  // An element belongs to the segment before which so many have ended.
  const Tensor places = unsqueeze(
      arange(num(int64_t{0}), num(data.size(d)), num(int64_t{1}), Dtype::i64, data.device()), -1);
  const Tensor ends =
      unsqueeze(narrow(cumsum(each, -1), -1, 0, std::max<int64_t>(each.size(-1) - 1, 0)), -2);
  const int64_t last[] = {-1};
  const Tensor segment = sum(ge(places, ends), last);
  const Tensor count = spread(each, data, d);
  const Tensor begun = full(count.sizes(), first, data.dtype(), data.device());
  const Tensor found = scatter_reduce(begun, d, spread(segment, data, d), data, rule.joined, true);
  if (!mean) return found;
  const Tensor by = clamp_min(to_dtype(count, data.dtype()), num(1.0));
  const Tensor nothing = initial ? found : full_like(found, num(rule.empty));
  return where(eq(count, num(int64_t{0})), nothing, div(found, by));
}

}  // namespace flambeau::ops
