// How many samples, or how much of their weights, fall between edges, along one dimension or into
// the boxes of a grid; made of operations.
#include <cmath>

#include "base/checked.h"
#include "ops/formula.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

void check_dtype(const Op& op, const Tensor& x, const Tensor& other, const char* name) {
  check(!other || other.dtype() == x.dtype(), Code::dtype, "torch.", op, ": input tensor and ",
        name, " should have the same dtype, but got input with dtype ", name_of(x.dtype()), " and ",
        name, " with dtype ", name_of(other ? other.dtype() : x.dtype()));
}

void check_samples(const Op& op, const Tensor& x, DimsView samples, const Tensor& weight) {
  check(is_floating(x.dtype()), Code::dtype, op, "(): not implemented for ", name_of(x.dtype()),
        "; convert the input to a floating-point dtype");
  check(!weight || std::ranges::equal(weight.sizes(), samples), Code::shape, op,
        "(): weight should have one number per sample, shape ", ShapeText{samples}, ", but got ",
        ShapeText{weight ? weight.sizes() : DimsView()});
  check_dtype(op, x, weight, "weight tensor");
}

void check_edges(const Op& op, const Tensor& x, const Tensor& bins) {
  check_dtype(op, x, bins, "bins tensors");
  check(bins.dim() == 1, Code::shape, "torch.", op,
        "(): bins tensor should have one dimension, but got ", bins.dim());
  check(bins.size(0) > 0, Code::shape, "torch.", op,
        "(): bins tensor should have at least 1 element, and two edges of a bin, but got none");
  check(bins.size(0) > 1, Code::shape, "torch.", op,
        "(): bins tensor should have at least two edges, but got ", bins.size(0));
}

// Edges of equal intervals over a range, or over the samples' own.
Tensor even_edges(const Op& op, const Tensor& x, int64_t bins, std::span<const double> range) {
  check(bins > 0, Code::invalid_argument, "torch.", op, "(): bins must be > 0, but got ", bins);
  check(range.empty() || range.size() == 2, Code::invalid_argument, "torch.", op,
        "(): range is two numbers, but got ", range.size());
  double low = range.empty() ? 0 : range[0], high = range.empty() ? 1 : range[1];
  if (range.empty() && x.numel()) {
    low = read_number(min(x));
    high = read_number(max(x));
  }
  check(low <= high && std::isfinite(low) && std::isfinite(high), Code::invalid_argument, "torch.",
        op, "(): max must be larger than min, got [", low, ", ", high, "]");
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  return linspace(low, high, checked_add(bins, 1, "torch.histogram(): bins"), x.dtype(),
                  x.device());
}

// Which box of the grid, in C order, each of the points is in, [n, D], and whether in any.
std::pair<Tensor, Tensor> boxes(const Tensor& points, std::span<const Tensor> edges) {
  Tensor place = zeros(Dims{points.size(0)}, Dtype::i64, points.device());
  Tensor inside = full(Dims{points.size(0)}, num(int64_t{!edges.empty()}), Dtype::boolean,
                       points.device());  // without coordinates a point is in none
  for (size_t d = 0; d < edges.size(); ++d) {
    const Tensor at = contiguous(select(points, 1, int64_t(d)));
    const Tensor& e = edges[d];
    const int64_t bins = e.size(0) - 1;
    inside = logical_and(inside, logical_and(ge(at, select(e, 0, 0)), le(at, select(e, 0, bins))));
    // The last edge belongs to the last bin.
    const Tensor bin = clamp(sub(searchsorted(e, at, false, true), num(int64_t{1})),
                             num(int64_t{0}), num(bins - 1));
    place = add(mul(place, num(bins)), bin);
  }
  return {place, inside};
}

Tensor counted(const Tensor& points, std::span<const Tensor> edges, const Tensor& weight,
               bool density) {
  // Half types add up in f32 and are rounded once: 1 more than 2,048 is no number of theirs.
  const Dtype dtype = points.dtype(), wide = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  Dims sizes;
  for (const Tensor& e : edges) sizes.push_back(e.size(0) - 1);
  const auto [place, inside] = boxes(points, edges);
  const Tensor each = weight ? to_dtype(ravel(weight), wide)
                             : full(Dims{points.size(0)}, num(1.0), wide, points.device());
  Tensor found = zeros(sizes, wide, points.device());
  scatter_add_(ravel(found), 0, place, keep_where(inside, each));  // through a view of all boxes
  if (density) found = div(found, sum(found));
  for (size_t d = 0; density && d < edges.size(); ++d) {
    Dims along(edges.size(), 1);
    along[d] = -1;
    found = div(found, reshape(diff(to_dtype(edges[d], wide)), along));
  }
  return to_dtype(found, dtype);
}

std::tuple<Tensor, Tensor> counted(const Tensor& x, const Tensor& edges, const Tensor& weight,
                                   bool density) {
  return {counted(unsqueeze(ravel(x), 1), {&edges, 1}, weight, density), edges};
}

// The points of histogramdd as rows, after all checks but those of bins.
Tensor points_of(const Op& op, const Tensor& input, const Tensor& weight) {
  check(input.dim() >= 2, Code::shape, "torch.", op,
        ": input tensor should have at least 2 dimensions, got ", input.dim());
  const DimsView samples = input.sizes().first(size_t(input.dim() - 1));
  check_samples(op, input, samples, weight);
  const Call c{op, {input, weight}};
  const int64_t coordinates = input.size(input.dim() - 1);
  check_count(op, "the last dimension of input", coordinates, kMostDims);  // each is one of hist
  return reshape(detach(input), Dims{numel_of(samples), coordinates});
}

}  // namespace

std::tuple<Tensor, Tensor> histogram(const Tensor& input, int64_t bins,
                                     std::span<const double> range, const Tensor& weight,
                                     bool density) {
  const Call c{op::histogram, {input, weight}};
  check_samples(op::histogram, input, input.sizes(), weight);
  const GradMode off(false);
  const Tensor x = detach(input);
  return counted(x, even_edges(op::histogram, x, bins, range), weight, density);
}

std::tuple<Tensor, Tensor> histogram_between(const Tensor& input, const Tensor& bins,
                                             const Tensor& weight, bool density) {
  const Call c{op::histogram_between, {input, bins, weight}};
  check_samples(op::histogram, input, input.sizes(), weight);
  check_edges(op::histogram, input, bins);
  const GradMode off(false);
  return counted(detach(input), clone(bins), weight, density);
}

std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& input, DimsView bins,
                                                    std::span<const double> range,
                                                    const Tensor& weight, bool density) {
  const GradMode off(false);
  const Tensor points = points_of(op::histogramdd, input, weight);
  const size_t n = size_t(points.size(1));
  check(bins.size() == n || bins.size() == 1, Code::invalid_argument,
        "histogramdd: The size of bins must be equal to the innermost dimension of the input, or "
        "1; got ",
        bins.size(), " for ", n);
  check(range.empty() || range.size() == 2 * n, Code::invalid_argument, "torch.histogramdd: for a ",
        n, "-dimensional histogram range should have ", 2 * n, " elements, but got ", range.size());
  std::vector<Tensor> edges;
  for (size_t d = 0; d < n; ++d) {
    edges.push_back(even_edges(op::histogramdd, select(points, 1, int64_t(d)),
                               bins[bins.size() == 1 ? 0 : d],
                               range.empty() ? range : range.subspan(2 * d, 2)));
  }
  Tensor found = counted(points, edges, weight, density);
  return {std::move(found), std::move(edges)};
}

std::tuple<Tensor, std::vector<Tensor>> histogramdd_between(const Tensor& input, TensorsView bins,
                                                            const Tensor& weight, bool density) {
  const GradMode off(false);
  const Tensor points = points_of(op::histogramdd, input, weight);
  check(bins.size() == size_t(points.size(1)), Code::invalid_argument,
        "torch.histogramdd: expected ", points.size(1), " sequences of bin edges for a ",
        points.size(1), "-dimensional histogram but got ", bins.size());
  std::vector<Tensor> edges;
  for (const Tensor& e : bins) {
    check_edges(op::histogramdd, input, e);
    const Call same_device{op::histogramdd_between, {input, e}};
    edges.push_back(detach(e));
  }
  Tensor found = counted(points, edges, weight, density);
  return {std::move(found), std::move(edges)};
}

}  // namespace flambeau::ops
