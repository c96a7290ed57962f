// Sampling images at given places, and the places of an affine map. Each corner around a place is a
// gather times a weight, so that gradients by image and by place follow from those ops.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "flambeau/image.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

struct Sampler {
  int32_t mode, padding;
  bool align;

  // From -1 .. 1 to elements.
  Tensor place(T g, int64_t n) const {
    return align ? mul(add(g, num(1.0)), num(double(n - 1) / 2))
                 : mul(sub(mul(add(g, num(1.0)), num(double(n))), num(1.0)), num(0.5));
  }

  // Mirrors between two edges, given doubled so that they are whole.
  static Tensor reflect(T x, int64_t twice_low, int64_t twice_high) {
    if (twice_low == twice_high) return mul(x, num(0.0));
    const double low = double(twice_low) / 2, span = double(twice_high - twice_low) / 2;
    const Tensor t = abs(sub(x, num(low)));
    const Tensor flips = floor(div(detach(t), num(span)));
    const Tensor rest = sub(t, mul(flips, num(span)));
    const Tensor odd = ne(fmod(flips, num(2.0)), num(0.0));
    return where(odd, rsub(rest, num(span + low)), add(rest, num(low)));
  }

  Tensor inside(Tensor x, int64_t n) const {
    if (padding == FLAM_GRID_ZEROS) return x;
    if (padding == FLAM_GRID_REFLECTION) {
      x = align ? reflect(x, 0, 2 * (n - 1)) : reflect(x, -1, 2 * n - 1);
    }
    return clamp(x, num(0.0), num(double(n - 1)));
  }
};

// One dimension of one corner: which elements, their weights (undefined: 1), and where they exist.
struct Side {
  Tensor at, weight, exists;
};

Side side_at(T element, T weight, int64_t n) {
  GradMode no_grad(false);
  const Tensor exists = logical_and(ge(element, num(0.0)), le(element, num(double(n - 1))));
  const Tensor safe =
      clamp(keep_where(exists, element), num(0.0), num(double(std::max<int64_t>(n - 1, 0))));
  return {to_dtype(safe, Dtype::i64), weight, exists};
}

// The cubic convolution of a = -0.75 at distance t from 0 to 1 (inner) or from 1 to 2.
Tensor cubic_inner(T t) {
  constexpr double a = -0.75;
  return add(mul(mul(sub(mul(t, num(a + 2)), num(a + 3)), t), t), num(1.0));
}
Tensor cubic_outer(T t) {
  constexpr double a = -0.75;
  const Tensor inner = add(mul(sub(t, num(5.0)), t), num(8.0));
  return mul(sub(mul(inner, t), num(4.0)), num(a));
}

// The sides along one dimension of size n, for the coordinates of that dimension.
std::vector<Side> sides_of(const Sampler& s, T coordinate, int64_t n) {
  if (s.mode == FLAM_INTERPOLATION_BICUBIC) {
    const Tensor x = s.place(coordinate, n), base = floor(detach(x)), t = sub(x, base);
    const Tensor weights[] = {cubic_outer(add(t, num(1.0))), cubic_inner(t),
                              cubic_inner(rsub(t, num(1.0))), cubic_outer(rsub(t, num(2.0)))};
    std::vector<Side> sides;
    for (int k = 0; k < 4; ++k) {
      const Tensor element = s.inside(add(base, num(double(k - 1))), n);
      sides.push_back(side_at(element, weights[k], n));
    }
    return sides;
  }
  const Tensor x = s.inside(s.place(coordinate, n), n);
  if (s.mode == FLAM_INTERPOLATION_NEAREST) {
    const Tensor nearest = round(x);
    // A weight of 1 with slope 0, so that the grid has a gradient at all.
    const Tensor weight = requires_grad(x) ? one_plus(sub(nearest, detach(nearest))) : Tensor();
    return {side_at(detach(nearest), weight, n)};
  }
  const Tensor base = floor(detach(x)), t = sub(x, base);
  return {side_at(base, one_minus(t), n), side_at(add(base, num(1.0)), t, n)};
}

// Sums the corners: `at`, `weight` and `exists` of the dimensions before d are combined already.
struct Corners {
  T flat;  // [n, c, elements]
  const std::vector<std::vector<Side>>& sides;
  DimsView sizes;
  Tensor sum;

  void visit(size_t d, T at, T weight, T exists) {
    if (d == sides.size()) return take(at, weight, exists);
    for (const Side& s : sides[d]) {
      const Tensor here = at ? add(mul(at, num(sizes[d])), s.at) : s.at;
      const Tensor factor = !weight ? s.weight : s.weight ? mul(weight, s.weight) : weight;
      visit(d + 1, here, factor, exists ? logical_and(exists, s.exists) : s.exists);
    }
  }

  void take(T at, T weight, T exists) {
    const Dims row{flat.size(0), 1, at.numel() / std::max<int64_t>(flat.size(0), 1)};
    const Dims wide{flat.size(0), flat.size(1), row[2]};
    Tensor value = gather(flat, 2, expand(reshape(at, row), wide));
    if (weight) value = mul(value, reshape(weight, row));
    value = keep_where(reshape(exists, row), value);
    sum = sum ? add(sum, value) : value;
  }
};

}  // namespace

Tensor grid_sample(const Tensor& x, const Tensor& grid, int32_t mode, int32_t padding_mode,
                   std::optional<flam_bool> align_corners) {
  const int64_t space = x.dim() - 2;
  const bool batches = x.dim() > 0 && grid.dim() > 0;
  check(
      !batches || x.size(0) == grid.size(0), Code::shape,
      "grid_sampler(): expected grid and input to have same batch size, but got input with sizes ",
      ShapeText{x.sizes()}, " and grid with sizes ", ShapeText{grid.sizes()});
  check(!batches || grid.size(-1) == space, Code::shape,
        "grid_sampler(): expected grid to have size ", space,
        " in last dimension, but got grid with sizes ", ShapeText{grid.sizes()});
  check((space == 2 || space == 3) && grid.dim() == x.dim(), Code::shape,
        "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
        "input with sizes ",
        ShapeText{x.sizes()}, " and grid with sizes ", ShapeText{grid.sizes()});
  const bool cubic = mode == FLAM_INTERPOLATION_BICUBIC;
  check(mode == FLAM_INTERPOLATION_BILINEAR || mode == FLAM_INTERPOLATION_NEAREST || cubic,
        Code::invalid_argument, "grid_sampler(): mode must be bilinear, nearest or bicubic");
  const Call c{op::grid_sample, {x, grid}};
  check(c[0].dtype() == c[1].dtype(), Code::dtype,
        "grid_sampler(): expected input and grid to have "
        "same dtype, but input has ",
        name_of(x.dtype()), " and grid has ", name_of(grid.dtype()));
  const Dtype dtype = c[0].dtype();
  if (dtype == Dtype::f16 || dtype == Dtype::bf16) {  // places need more digits than these have
    const Tensor wide[] = {to_dtype(c[0], Dtype::f32), to_dtype(c[1], Dtype::f32)};
    return to_dtype(grid_sample(wide[0], wide[1], mode, padding_mode, align_corners), dtype);
  }
  const DimsView sizes = x.sizes().subspan(2);
  for (int64_t n : sizes) {
    check(n > 0, Code::shape,
          "grid_sampler(): expected input to have non-empty spatial dimensions, "
          "but input has sizes ",
          ShapeText{x.sizes()});
  }
  const Sampler s{mode, padding_mode, align_corners.value_or(0) != 0};
  std::vector<std::vector<Side>> sides;
  for (int64_t d = 0; d < space; ++d) {  // the grid's last coordinate is of the first dimension
    sides.push_back(sides_of(s, select(c[1], -1, space - 1 - d), sizes[size_t(d)]));
  }
  const Tensor flat = reshape(c[0], Dims{x.size(0), x.size(1), numel_of(sizes)});
  Corners corners{flat, sides, sizes, {}};
  corners.visit(0, {}, {}, {});
  Dims result{x.size(0), x.size(1)};
  for (int64_t d = 0; d < space; ++d) result.push_back(grid.size(d + 1));
  return reshape(corners.sum, result);
}

// The places of a grid without a transform, with a 1 behind each: [places, space + 1].
static Tensor base_grid(DimsView spatial, bool align, Dtype dtype, Device device) {
  const GradMode off(false);
  const size_t space = spatial.size();
  std::vector<Tensor> columns;
  for (size_t k = space; k-- > 0;) {  // x, then y, then z
    const int64_t n = spatial[k];
    Tensor line = n <= 1 ? zeros(Dims{n}, dtype, device) : linspace(-1, 1, n, dtype, device);
    if (!align) line = mul(line, num(double(n - 1) / double(std::max<int64_t>(n, 1))));
    Dims shape(space, 1);
    shape[k] = n;
    columns.push_back(ravel(expand(reshape(line, shape), spatial)));
  }
  columns.push_back(ones(Dims{numel_of(spatial)}, dtype, device));
  return stack(columns, 1);
}

Tensor affine_grid(const Tensor& theta, DimsView size, std::optional<flam_bool> align_corners) {
  const size_t space = size.size() - 2;
  check(size.size() == 4 || size.size() == 5, Code::shape,
        "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
        "Got size ",
        ShapeText{size});
  check(std::all_of(size.begin(), size.end(), [](int64_t n) { return n > 0; }), Code::shape,
        "Expected non-zero, positive output size. Got ", ShapeText{size});
  check(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == int64_t(space) &&
            theta.size(2) == int64_t(space) + 1,
        Code::shape, "Expected a batch of ", space, "D affine matrices of shape ", size[0], "x",
        space, "x", space + 1, " for size ", ShapeText{size}, ". Got ", theta);
  check(is_floating(theta.dtype()), Code::dtype,
        "Expected theta to have floating point type, but got ", name_of(theta.dtype()));
  const bool align = align_corners.value_or(0) != 0;
  const Dims spatial(size.subspan(2));
  Dims result{size[0]};
  for (int64_t n : spatial) result.push_back(n);
  result.push_back(int64_t(space));
  const auto forward = [&](const Tensor& t) {
    const Tensor base = base_grid(spatial, align, t.dtype(), t.device());
    return reshape(matmul(base, transpose(t, 1, 2)), result);
  };
  const Dims flat{size[0], numel_of(spatial), int64_t(space)};
  return linear<"AffineGridGeneratorBackward0">(
      op::affine_grid, theta, forward, [spatial, flat, align](const Tensor& dy) {
        const Tensor base = base_grid(spatial, align, dy.dtype(), dy.device());
        return matmul(transpose(reshape(dy, flat), 1, 2), base);
      });
}

}  // namespace flambeau::ops
