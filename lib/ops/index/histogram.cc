// How many samples, or how much of their weights, fall between edges; made of operations.
#include <cmath>

#include "base/error.h"
#include "ops/formula.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

void check_dtype(const Tensor& x, const Tensor& other, const char* name) {
  check(!other || other.dtype() == x.dtype(), Code::dtype, "torch.histogram(): input and ", name,
        " should have the same dtype, but got ", name_of(x.dtype()), " and ",
        name_of(other ? other.dtype() : x.dtype()));
}

void check_samples(const Tensor& x, const Tensor& weight) {
  check(is_floating(x.dtype()), Code::dtype, "histogram(): not implemented for ",
        name_of(x.dtype()), "; convert the input to a floating-point dtype");
  check(!weight || std::ranges::equal(weight.sizes(), x.sizes()), Code::shape,
        "histogram(): weight should have one number per sample, shape ", ShapeText{x.sizes()},
        ", but got ", ShapeText{weight ? weight.sizes() : DimsView()});
  check_dtype(x, weight, "weight");
}

std::tuple<Tensor, Tensor> counted(const Tensor& x, const Tensor& edges, const Tensor& weight,
                                   bool density) {
  const Tensor in = ravel(x);
  const int64_t bins = edges.size(0) - 1;
  const Tensor inside = logical_and(ge(in, select(edges, 0, 0)), le(in, select(edges, 0, bins)));
  // The last edge belongs to the last bin.
  const Tensor place = clamp(sub(searchsorted(edges, in, false, true), num(int64_t{1})),
                             num(int64_t{0}), num(bins - 1));
  // Half types add up in f32 and are rounded once: 1 more than 2,048 is no number of theirs.
  const Dtype wide = x.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const Tensor each =
      weight ? to_dtype(ravel(weight), wide) : full(in.sizes(), num(1.0), wide, x.device());
  Tensor found =
      scatter_add(zeros(Dims{bins}, wide, x.device()), 0, place, keep_where(inside, each));
  if (density) found = div(div(found, sum(found)), diff(to_dtype(edges, wide)));
  return {to_dtype(found, x.dtype()), edges};
}

}  // namespace

std::tuple<Tensor, Tensor> histogram(const Tensor& input, int64_t bins,
                                     std::span<const double> range, const Tensor& weight,
                                     bool density) {
  const Call c{op::histogram, {input, weight}};
  check_samples(input, weight);
  check(bins > 0, Code::invalid_argument, "torch.histogram(): bins must be > 0, but got ", bins);
  check(range.empty() || range.size() == 2, Code::invalid_argument,
        "torch.histogram(): range is two numbers, but got ", range.size());
  const GradMode off(false);
  const Tensor x = detach(input);
  double low = range.empty() ? 0 : range[0], high = range.empty() ? 1 : range[1];
  if (range.empty() && x.numel()) {
    low = read_number(min(x));
    high = read_number(max(x));
  }
  check(low <= high && std::isfinite(low) && std::isfinite(high), Code::invalid_argument,
        "torch.histogram(): max must be larger than min, got [", low, ", ", high, "]");
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  return counted(x, linspace(low, high, bins + 1, x.dtype(), x.device()), weight, density);
}

std::tuple<Tensor, Tensor> histogram_between(const Tensor& input, const Tensor& bins,
                                             const Tensor& weight, bool density) {
  const Call c{op::histogram_between, {input, bins, weight}};
  check_samples(input, weight);
  check(bins.dim() == 1, Code::shape,
        "torch.histogram(): bins tensor should have one dimension, but got ", bins.dim());
  check(bins.size(0) > 1, Code::shape,
        "torch.histogram(): bins tensor should have at least two edges, but got ", bins.size(0));
  check_dtype(input, bins, "bins");
  const GradMode off(false);
  return counted(detach(input), clone(bins), weight, density);
}

}  // namespace flambeau::ops
