// Where values belong in an order, which occur, and how often.
#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "base/warning.h"
#include "flambeau/search.h"
#include "kernels/sort/sort.h"
#include "ops/call.h"
#include "ops/formula.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

constexpr int64_t kNarrowEnd = 0x7fffffff;

Tensor searched(Form op, const Tensor& sequence, const Tensor& values, const Tensor& sorter,
                bool narrow, bool right) {
  check(!narrow || sequence.sizes().back() < kNarrowEnd, Code::invalid_argument, op,
        "(): positions in ", sequence.sizes().back(), " elements do not fit int32");
  const bool number = values.is_wrapped_number();
  const Tensor in = number ? to_device(alias(values), sequence.device(), false) : values;
  Call c{op, {sequence, in, sorter}};
  const Tensor* both[] = {&sequence, &values};
  const Dtype dtype = result_type(both);
  check(dtype != Dtype::boolean, Code::dtype, op, "(): not implemented for bool");
  const GradMode off(false);
  const Tensor rows = to_dtype(c[0], dtype), wanted = to_dtype(c[1], dtype);
  Tensor y = c.output(values.sizes(), narrow ? Dtype::i32 : Dtype::i64);
  run_search(op, y, rows, wanted, sorter, right);
  return c.constant(std::move(y));
}

bool leading_sizes_match(const Tensor& a, const Tensor& b) {
  if (a.dim() != b.dim()) return false;
  for (int64_t d = 0; d + 1 < a.dim(); ++d) {
    if (a.size(d) != b.size(d)) return false;
  }
  return true;
}

void check_sorter(const Tensor& sequence, const Tensor& sorter) {
  check(sorter.sizes().size() == sequence.sizes().size() &&
            std::equal(sorter.sizes().begin(), sorter.sizes().end(), sequence.sizes().begin()),
        Code::shape, "torch.searchsorted(): boundary and sorter must have the same size, but got ",
        "boundary tensor ", ShapeText{sequence.sizes()}, " and got sorter tensor ",
        ShapeText{sorter.sizes()});
  check(sorter.dtype() == Dtype::i64, Code::dtype,
        "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
        name_of(sorter.dtype()));
  // A device is not waited for: its kernel reports what is out of range.
  if (sorter.numel() == 0 || !sorter.device().is_cpu()) return;
  const GradMode off(false);
  check(read_integer(min(sorter)) >= 0 && read_integer(max(sorter)) < sequence.sizes().back(),
        Code::index, "torch.searchsorted(): sorter index out of range");
}

// Each of the three is told of once: the call that is measured first says so.
void warn_of_copy(const Tensor& t, const char* what, ToldOnce& told) {
  if (t && !t.is_contiguous()) {
    told.warn("torch.searchsorted(): ", what, " tensor is non-contiguous, this will lower the ",
              "performance: it is copied at each call. Make it contiguous() once. This message ",
              "will only appear once per program.");
  }
}

}  // namespace

Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool out_int32, bool right,
                    int32_t side, const Tensor& sorter, Into into) {
  check(side != FLAM_SIDE_LEFT || !right, Code::invalid_argument,
        "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
        "right was True");
  check(sequence.dim() > 0, Code::shape,
        "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
        "dimension");
  check(values.dim() > 0 || sequence.dim() == 1, Code::shape,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension "
        "is 1, but we got boundaries tensor dim(",
        sequence.dim(), ")");
  check(sequence.dim() == 1 || leading_sizes_match(sequence, values), Code::shape,
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
        "of boundaries tensor and input value tensor must match, but we got boundaries tensor ",
        ShapeText{sequence.sizes()}, " and input value tensor ", ShapeText{values.sizes()});
  if (sorter) check_sorter(sequence, sorter);
  static ToldOnce of_values, of_sequence, of_sorter;
  warn_of_copy(values, "input value", of_values);
  warn_of_copy(sequence, "boundary", of_sequence);
  warn_of_copy(sorter, "sorter", of_sorter);
  return searched(op::searchsorted.to(into), sequence, values, sorter, out_int32,
                  right || side == FLAM_SIDE_RIGHT);
}

Tensor bucketize(const Tensor& values, const Tensor& boundaries, bool out_int32, bool right,
                 Into into) {
  check(boundaries.dim() == 1, Code::shape, "boundaries tensor must be 1 dimension, but got dim(",
        boundaries.dim(), ")");
  return searched(op::bucketize.to(into), boundaries, values, {}, out_int32, right);
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert, Into into) {
  const GradMode off(false);
  const Device device = elements.is_wrapped_number() ? test_elements.device() : elements.device();
  auto placed = [&](const Tensor& t) {
    return t.is_wrapped_number() ? to_device(alias(t), device, false) : t;
  };
  const Tensor asked = placed(elements), among = placed(test_elements);
  Call c{op::isin.to(into), {asked, among}};
  const Tensor* both[] = {&elements, &test_elements};
  Dtype dtype = result_type(both);
  if (dtype == Dtype::boolean) dtype = Dtype::u8;
  const Tensor wanted = to_dtype(c[0], dtype);
  const Tensor known = std::get<0>(sort(ravel(to_dtype(c[1], dtype))));
  if (known.numel() == 0) {
    return full(elements.sizes(), scalar_bool(invert), Dtype::boolean, device);
  }
  const Tensor place = clamp_max(searchsorted(known, wanted), num(known.numel() - 1));
  const Tensor there = take(known, place);
  return invert ? ne(there, wanted) : eq(there, wanted);
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength) {
  check(minlength >= 0, Code::invalid_argument, "minlength should be >= 0");
  check(is_integral(x.dtype()) && x.dtype() != Dtype::boolean, Code::dtype,
        "bincount(): not implemented for ", name_of(x.dtype()), "; convert it: x.to(int64)");
  check(x.dim() == 1, Code::shape, "bincount only supports 1-d non-negative integral inputs.");
  const Call c{op::bincount, {x, weights}};
  const GradMode off(false);
  const Tensor at = to_dtype(x, Dtype::i64);
  check(at.numel() == 0 || read_integer(min(at)) >= 0, Code::invalid_argument,
        "bincount only supports 1-d non-negative integral inputs.");
  check(!weights || (weights.dim() == 1 && weights.numel() == x.numel()), Code::shape,
        "weights should be 1-d and have the same length as input");
  const int64_t greatest = at.numel() ? read_integer(max(at)) : -1;
  const int64_t n = std::max(minlength, checked_add(greatest, 1, "bincount: the greatest value"));
  const Dtype dtype = !weights                        ? Dtype::i64
                      : weights.dtype() == Dtype::f32 ? Dtype::f32
                                                      : Dtype::f64;
  const Tensor terms =
      weights ? to_dtype(detach(weights), dtype) : ones(at.sizes(), dtype, x.device());
  return scatter_add(zeros(Dims{n}, dtype, x.device()), 0, at, terms);
}

Tensor histc(const Tensor& x, int64_t bins, double low, double high, Into) {
  check(low <= high, Code::invalid_argument, "torch.histc: max must be larger than min");
  check(is_floating(x.dtype()), Code::dtype, "histc(): not implemented for ", name_of(x.dtype()));
  check(bins > 0, Code::invalid_argument, "torch.histc(): bins must be > 0, but got ", bins);
  const GradMode off(false);
  const Tensor in = ravel(detach(x));
  if (low == high && in.numel()) {
    low = read_number(min(in));
    high = read_number(max(in));
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  check(std::isfinite(low) && std::isfinite(high), Code::invalid_argument,
        "torch.histc: range of [", low, ", ", high, "] is not finite");
  const Tensor edges = linspace(low, high, bins + 1, x.dtype(), x.device());
  const Tensor inside = logical_and(ge(in, num(low)), le(in, num(high)));
  const Tensor place = clamp(sub(searchsorted(edges, in, false, true), num(int64_t{1})),
                             num(int64_t{0}), num(bins - 1));
  return scatter_add(zeros(Dims{bins}, x.dtype(), x.device()), 0, place,
                     to_dtype(inside, x.dtype()));
}

}  // namespace flambeau::ops
