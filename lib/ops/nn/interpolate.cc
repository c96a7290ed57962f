// Resampling to another size. Each dimension becomes a banded matrix, computed on the host in
// double precision; the gradient is the same kernel with the transposed bands.
#include <cmath>
#include <vector>

#include "base/error.h"
#include "flambeau/image.h"
#include "kernels/resample/resample.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using Bands = SmallVector<Band, kConvDims>;

// One dimension's matrix by rows: row o has weights for elements first[o], first[o] + 1, ...
struct Matrix {
  int64_t in;
  std::vector<int64_t> first;
  std::vector<std::vector<double>> rows;

  // Adds a weight at element i, or at the edge it lies beyond. Elements come in ascending order.
  void add(size_t row, int64_t i, double weight) {
    i = std::clamp<int64_t>(i, 0, in - 1);
    if (rows[row].empty()) first[row] = i;
    const size_t at = size_t(i - first[row]);
    if (rows[row].size() <= at) rows[row].resize(at + 1, 0);
    rows[row][at] += weight;
  }

  static Matrix identity(int64_t n) {
    Matrix m{n, std::vector<int64_t>(size_t(n), 0), std::vector<std::vector<double>>(size_t(n))};
    for (int64_t i = 0; i < n; ++i) m.add(size_t(i), i, 1);
    return m;
  }

  // Weights as multiples of a power of 2, the least for which the largest fits 15 digits.
  Matrix quantized() const {
    double most = 0;
    for (const auto& row : rows) {
      for (double w : row) most = std::max(most, w);
    }
    int digits = 0;
    while (digits < 22 && std::floor(0.5 + std::ldexp(most, digits + 1)) < (1 << 15)) ++digits;
    Matrix m = *this;
    for (auto& row : m.rows) {
      for (double& w : row) w = std::ldexp(std::round(std::ldexp(w, digits)), -digits);
    }
    return m;
  }

  Matrix transposed() const {
    Matrix t{int64_t(rows.size()), std::vector<int64_t>(size_t(in), 0),
             std::vector<std::vector<double>>(size_t(in))};
    for (size_t o = 0; o < rows.size(); ++o) {
      for (size_t k = 0; k < rows[o].size(); ++k) {
        t.add(size_t(first[o]) + k, int64_t(o), rows[o][k]);
      }
    }
    return t;
  }

  Band band(Dtype dtype, Device device) const {
    size_t taps = 1;
    bool ones = true;
    for (const auto& row : rows) {
      taps = std::max(taps, row.size());
      for (double w : row) ones &= w == 1;
    }
    const int64_t n = int64_t(rows.size());
    const Tensor start = flambeau::empty(Dims{n}, Dtype::i64, kCpu),
                 count = flambeau::empty(Dims{n}, Dtype::i64, kCpu);
    for (size_t o = 0; o < rows.size(); ++o) {
      start.data_as<int64_t>()[o] = first[o];
      count.data_as<int64_t>()[o] = int64_t(rows[o].size());
    }
    const Band b{to(start, device), to(count, device), int64_t(taps), {}};
    if (ones) return b;
    const Tensor weights = flambeau::empty(Dims{n, int64_t(taps)}, Dtype::f64, kCpu);
    for (size_t o = 0; o < rows.size(); ++o) {
      for (size_t k = 0; k < taps; ++k) {
        weights.data_as<double>()[o * taps + k] = k < rows[o].size() ? rows[o][k] : 0;
      }
    }
    const bool wide = dtype == Dtype::f64 || (dtype == Dtype::u8 && !is_exact_in_floats());
    return {b.first, b.count, b.taps, to(weights, device, wide ? Dtype::f64 : Dtype::f32)};
  }

  // Whether sums of bytes times these weights, and a half, are multiples of what a float holds.
  bool is_exact_in_floats() const {
    double most = 0, unit = 1;
    for (const auto& row : rows) {
      double sum = 0;
      for (double w : row) {
        sum += std::abs(w);
        while (w / unit != std::round(w / unit)) unit /= 2;
      }
      most = std::max(most, sum);
    }
    return most * 255 + 1 <= std::ldexp(unit, 24);
  }
};

Tensor resample(const Op& op, const Tensor& x, DimsView sizes,
                const SmallVector<Matrix, kConvDims>& matrices);

struct ResampleBackward {
  const Op& op;
  Dims sizes;
  SmallVector<Matrix, kConvDims> matrices;
  static constexpr auto name = "UpsampleBackward0";
  Tensors operator()(const Tensor& dy) const {
    SmallVector<Matrix, kConvDims> back;
    for (const Matrix& m : matrices) back.push_back(m.transposed());
    return {resample(op, dy, sizes, back)};
  }
};

Tensor resample(const Op& op, const Tensor& x, DimsView sizes,
                const SmallVector<Matrix, kConvDims>& matrices) {
  Call c{op, {x}};
  Bands bands;
  for (const Matrix& m : matrices) bands.push_back(m.band(x.dtype(), x.device()));
  Tensor y = empty_image(sizes, x.dtype(), x.device(), is_channels_last(x));
  run_resample(op, y, c[0], bands);
  return c.track(std::move(y), ResampleBackward{op, Dims(x.sizes()), matrices});
}

// Images of bytes as torch resamples them: one dimension after the other, the last one first, with
// weights of at most 15 binary digits, each time rounded to bytes.
Tensor resample_bytes(const Op& op, const Tensor& x, DimsView sizes,
                      const SmallVector<Matrix, kConvDims>& matrices) {
  Tensor y = x;
  Dims now(x.sizes());
  for (size_t d = matrices.size(); d-- > 0;) {
    SmallVector<Matrix, kConvDims> one;
    for (size_t k = 0; k < matrices.size(); ++k) {
      one.push_back(k == d ? matrices[k].quantized() : Matrix::identity(now[k + 2]));
    }
    now[d + 2] = sizes[d + 2];
    y = resample(op, y, now, one);
  }
  return y;
}

// ---- the matrices
// ----------------------------------------------------------------------------------------

double cubic(double t, double a) {
  t = std::abs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? a * (((t - 5) * t + 8) * t - 4) : 0;
}

enum class Filter : int8_t { nearest, nearest_exact, linear, cubic };

struct Sampling {
  Filter filter;
  bool align, antialias;
  int64_t in, out;
  std::optional<double> factor;  // the caller's; none: by the sizes

  // Width of an output element in input elements.
  double scale() const {
    if (align) return out > 1 ? double(in - 1) / double(out - 1) : 0;
    return factor && *factor > 0 ? 1 / *factor : double(in) / double(out);
  }

  Matrix matrix() const {
    Matrix m{in, std::vector<int64_t>(size_t(out), 0),
             std::vector<std::vector<double>>(size_t(out))};
    for (int64_t o = 0; o < out; ++o) {
      if (antialias) {
        smooth(m, o);
      } else {
        sample(m, o);
      }
    }
    return m;
  }

 private:
  void sample(Matrix& m, int64_t o) const {
    const double s = scale();
    const size_t row = size_t(o);
    if (filter == Filter::nearest || filter == Filter::nearest_exact) {
      const float at =
          filter == Filter::nearest ? float(o) * float(s) : (float(o) + 0.5F) * float(s);
      return m.add(row, int64_t(std::floor(at)), 1);
    }
    double at = align ? double(o) * s : (double(o) + 0.5) * s - 0.5;
    if (filter == Filter::linear) at = std::max(at, 0.0);
    const double base = std::floor(at), t = at - base;
    const auto i = int64_t(base);
    if (filter == Filter::linear) {
      if (i >= in - 1) return m.add(row, in - 1, 1);
      m.add(row, i, 1 - t);
      return m.add(row, i + 1, t);
    }
    for (int64_t k = -1; k <= 2; ++k) m.add(row, i + k, cubic(t - double(k), -0.75));
  }

  // The filter stretched over the width of an output element, its weights summing to 1.
  void smooth(Matrix& m, int64_t o) const {
    const double s = scale(), stretch = std::max(s, 1.0);
    const double support = (filter == Filter::linear ? 1.0 : 2.0) * stretch;
    const double centre = s * (double(o) + 0.5);
    const int64_t low = std::max<int64_t>(int64_t(centre - support + 0.5), 0);
    const int64_t high = std::min<int64_t>(int64_t(centre + support + 0.5), in);
    std::vector<double> weights;
    double total = 0;
    for (int64_t i = low; i < high; ++i) {
      const double t = (double(i) - centre + 0.5) / stretch;
      weights.push_back(filter == Filter::linear ? std::max(1 - std::abs(t), 0.0) : cubic(t, -0.5));
      total += weights.back();
    }
    for (int64_t i = low; i < high; ++i) {
      m.add(size_t(o), i, weights[size_t(i - low)] / (total == 0 ? 1 : total));
    }
  }
};

struct Mode {
  int32_t mode;
  Op op;
  const char* text;
  Filter filter;
  size_t spatial;  // 0: any
};
constexpr Mode kModes[] = {
    {FLAM_INTERPOLATION_NEAREST, {"upsample_nearest", "input"}, "nearest", Filter::nearest, 0},
    {FLAM_INTERPOLATION_NEAREST_EXACT,
     {"upsample_nearest_exact", "input"},
     "nearest-exact",
     Filter::nearest_exact,
     0},
    {FLAM_INTERPOLATION_LINEAR, {"upsample_linear1d", "input"}, "linear", Filter::linear, 1},
    {FLAM_INTERPOLATION_BILINEAR, {"upsample_bilinear2d", "input"}, "bilinear", Filter::linear, 2},
    {FLAM_INTERPOLATION_TRILINEAR,
     {"upsample_trilinear3d", "input"},
     "trilinear",
     Filter::linear,
     3},
    {FLAM_INTERPOLATION_BICUBIC, {"upsample_bicubic2d", "input"}, "bicubic", Filter::cubic, 2}};

Tensor area(const Tensor& x, DimsView sizes) {
  return sizes.size() == 1   ? adaptive_avg_pool1d(x, sizes)
         : sizes.size() == 2 ? adaptive_avg_pool2d(x, sizes)
                             : adaptive_avg_pool3d(x, sizes);
}

template <class T> std::vector<T> for_each_dimension(std::span<const T> given, size_t spatial,
                                                     const char* what) {
  check(given.size() == 1 || given.size() == spatial, Code::invalid_argument, "Input and ", what,
        " must have the same number of spatial dimensions, but got ", given.size(), " values for ",
        spatial, " spatial dimensions");
  if (given.size() == spatial) return std::vector<T>(given.begin(), given.end());
  return std::vector<T>(spatial, given[0]);
}

}  // namespace

Tensor interpolate(const Tensor& x, DimsView size, std::span<const double> scale_factor,
                   int32_t mode, std::optional<flam_bool> align_corners,
                   std::optional<flam_bool> recompute_scale_factor, bool antialias) {
  check(x.dim() >= 3 && x.dim() <= 5, Code::shape,
        "Input Error: Only 3D, 4D and 5D input Tensors "
        "supported (got ",
        x.dim(), "D)");
  check(size.empty() != scale_factor.empty(), Code::invalid_argument,
        size.empty() ? "either size or scale_factor should be defined"
                     : "only one of size or scale_factor should be defined");
  const size_t spatial = size_t(x.dim()) - 2;
  const bool recompute = recompute_scale_factor.value_or(0) != 0;
  check(!recompute || size.empty(), Code::invalid_argument,
        "recompute_scale_factor is not meaningful with an explicit size.");
  std::vector<int64_t> out;
  std::vector<double> factors;
  if (!size.empty()) {
    out = for_each_dimension<int64_t>(size, spatial, "output size");
  } else {
    factors = for_each_dimension<double>(scale_factor, spatial, "scale_factor");
    for (size_t d = 0; d < spatial; ++d) {
      out.push_back(int64_t(std::floor(double(x.sizes()[d + 2]) * factors[d])));
    }
    if (recompute) factors.clear();
  }
  Dims sizes{x.size(0), x.size(1)};
  for (size_t d = 0; d < spatial; ++d) {
    check(out[d] > 0 && x.sizes()[d + 2] > 0, Code::shape,
          "Input and output sizes should be greater than 0, but got input ", x,
          " and output sizes ", ShapeText{DimsView(out)});
    sizes.push_back(out[d]);
  }
  if (mode == FLAM_INTERPOLATION_AREA) return area(x, DimsView(out));
  const Call c{op::interpolate, {x}};
  for (const Mode& m : kModes) {
    if (m.mode != mode) continue;
    const bool exact = m.filter == Filter::nearest || m.filter == Filter::nearest_exact;
    check(!exact || !align_corners, Code::invalid_argument,
          "align_corners option can only be set "
          "with the interpolating modes: linear | bilinear | bicubic | trilinear");
    check(m.spatial == 0 || m.spatial == spatial, Code::unsupported, "Got ", x.dim(),
          "D input, but ", m.text, " mode needs ", m.spatial + 2, "D input");
    check(!antialias || m.spatial == 2, Code::invalid_argument,
          "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor "
          "as input");
    const bool bytes = x.dtype() == Dtype::u8;
    check(bytes || is_floating(x.dtype()), Code::dtype, "\"", m.op, "\" not implemented for '",
          name_of(x.dtype()), "'");
    SmallVector<Matrix, kConvDims> matrices;
    for (size_t d = 0; d < spatial; ++d) {
      const std::optional<double> factor =
          factors.empty() ? std::nullopt : std::optional<double>(factors[d]);
      matrices.push_back(Sampling{m.filter, align_corners.value_or(0) != 0, antialias,
                                  x.sizes()[d + 2], out[d], factor}
                             .matrix());
    }
    if (!bytes || exact) return resample(m.op, c[0], sizes, matrices);
    return resample_bytes(m.op, c[0], sizes, matrices);
  }
  fail(Code::invalid_argument, "interpolate: unknown mode ", mode);
}

}  // namespace flambeau::ops
