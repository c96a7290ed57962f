// Padding. A constant is a filled tensor with x copied into it; the other modes read x at positions
// that repeat, dimension by dimension. Negative sizes cut off.
#include "flambeau/pad.h"
#include "base/checked.h"
#include "base/error.h"
#include "ops/fits.h"
#include "ops/formula.h"
#include "ops/index/indices.h"
#include "ops/nn/ordered.h"

namespace flambeau::ops {

namespace {

constexpr Op kConstantPadNdOp{"constant_pad_nd"};

struct Sides {
  int64_t before, after;
};

// One pair per dimension of x, the first dimension first.
SmallVector<Sides, 8> sides_of(const Tensor& x, DimsView pad) {
  check(pad.size() % 2 == 0, Code::invalid_argument, "Padding length must be divisible by 2, got ",
        pad.size(), " values");
  check(int64_t(pad.size() / 2) <= x.dim(), Code::shape,
        "Padding length should be less than or equal to two times the input dimension but got "
        "padding length ",
        pad.size(), " and input of dimension ", x.dim());
  for (int64_t v : pad) {
    check(v >= -kMostElements, Code::invalid_argument, "pad: a size must be at least ",
          -kMostElements, ", got ", v);
    check_extent("pad", "a size", v);
  }
  SmallVector<Sides, 8> sides(size_t(x.dim()), Sides{0, 0});
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    sides[size_t(x.dim()) - 1 - i] = {pad[2 * i], pad[2 * i + 1]};
  }
  return sides;
}

Tensor cropped(Tensor t, const SmallVector<Sides, 8>& cut) {
  for (size_t d = 0; d < cut.size(); ++d) {
    const int64_t n = t.sizes()[d] - cut[d].before - cut[d].after;
    if (n != t.sizes()[d]) t = narrow(t, int64_t(d), cut[d].before, n);
  }
  return t;
}

struct ConstantPadBackward {
  SmallVector<Sides, 8> sides;
  static constexpr auto name = "ConstantPadNdBackward0";
  // Dense, and no view of dy.
  Tensors operator()(const Tensor& dy) const { return {clone(cropped(dy, sides))}; }
};

// Elements [start, start + n) of dimension d, for writing.
Tensor range_of(const Tensor& t, size_t d, int64_t start, int64_t n) {
  Dims sizes(t.sizes());
  sizes[d] = n;
  return alias(t, sizes, t.strides(), t.offset() + start * t.strides()[d]);
}

Tensor constant_pad(const Tensor& x, const SmallVector<Sides, 8>& sides, double value) {
  check_fits(value, x.dtype());
  Call c{kConstantPadNdOp, {x}};
  Dims sizes(x.sizes());
  for (size_t d = 0; d < sizes.size(); ++d) sizes[d] += sides[d].before + sides[d].after;
  Tensor y = c.output(sizes, x.dtype(), is_channels_last(x));
  Tensor inside = y;  // of the dimensions so far; what is beside it in the next one is filled
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t n = x.sizes()[d], after = sides[d].before + n;
    run_cast(range_of(inside, d, 0, sides[d].before), num(value));
    run_cast(range_of(inside, d, after, sides[d].after), num(value));
    inside = range_of(inside, d, sides[d].before, n);
  }
  run_cast(inside, c[0]);
  return c.track(std::move(y), ConstantPadBackward{sides});
}

// Where element i of a padded dimension of size n comes from; i counts from the first of x.
int64_t source(int32_t mode, int64_t i, int64_t n) {
  if (mode == FLAM_PADDING_REPLICATE) return std::clamp<int64_t>(i, 0, n - 1);
  if (mode == FLAM_PADDING_CIRCULAR) return (i + n) % n;
  return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

void check_reach(int32_t mode, const Tensor& x, int64_t d, Sides s) {
  const int64_t n = x.size(d), most = std::max(s.before, s.after);
  if (mode == FLAM_PADDING_REFLECT) {
    check(most < n, Code::shape,
          "Padding size should be less than the corresponding input dimension, but got: padding (",
          s.before, ", ", s.after, ") at dimension ", d, " of input ", x);
  } else if (mode == FLAM_PADDING_CIRCULAR) {
    check(most <= n, Code::shape, "Padding value causes wrapping around more than once: padding (",
          s.before, ", ", s.after, ") at dimension ", d, " of input ", x);
  } else {
    check(n > 0, Code::shape, "Expected a non-zero size at dimension ", d, " of input ", x);
  }
}

Tensor repeated(const Tensor& x, const SmallVector<Sides, 8>& sides, int32_t mode) {
  Tensor y = x;
  for (size_t d = 0; d < sides.size(); ++d) {
    const Sides s = sides[d];
    if (s.before == 0 && s.after == 0) continue;
    const int64_t n = x.sizes()[d];
    check_reach(mode, x, int64_t(d), s);
    const Tensor at = flambeau::empty(Dims{n + s.before + s.after}, Dtype::i64, kCpu);
    for (int64_t i = 0; i < at.numel(); ++i) {
      at.data_as<int64_t>()[i] = source(mode, i - s.before, n);
    }
    y = index_select(y, int64_t(d), to(at, x.device()));
  }
  return y;
}

void check_repeating(const Tensor& x, DimsView pad, int32_t mode) {
  const int64_t padded = int64_t(pad.size() / 2), dims = x.dim();
  check(pad.size() % 2 == 0 && padded >= 1 && padded <= 3 &&
            (dims == padded + 1 || dims == padded + 2),
        Code::shape,
        "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: "
        "padding of ",
        pad.size(), " values for input ", x);
  for (int64_t d = dims - padded - 1; d < dims; ++d) {
    check(x.size(d) > 0 || mode == FLAM_PADDING_CIRCULAR, Code::shape, "Expected ", padded + 1,
          "D or ", padded + 2,
          "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
          "input, but got: ",
          ShapeText{x.sizes()});
  }
}

}  // namespace

Tensor pad(const Tensor& x, DimsView pad, int32_t mode, std::optional<double> value) {
  const bool constant = mode == FLAM_PADDING_CONSTANT || mode == FLAM_PADDING_UNSPECIFIED;
  check(constant || !value || *value == 0, Code::invalid_argument,
        "Padding mode doesn't take in value argument; only the mode constant does");
  if (!constant) check_repeating(x, pad, mode);
  SmallVector<Sides, 8> sides = sides_of(x, pad), cut(sides.size(), Sides{0, 0});
  bool adds = false, cuts = false;
  for (size_t d = 0; d < sides.size(); ++d) {
    const int64_t n = x.sizes()[d] + sides[d].before + sides[d].after;
    check(n >= 0, Code::shape, "The input size ", x.sizes()[d], ", plus negative padding ",
          sides[d].before, " and ", sides[d].after, " resulted in a negative output size ", n,
          " at dimension ", d);
    cut[d] = {std::max<int64_t>(-sides[d].before, 0), std::max<int64_t>(-sides[d].after, 0)};
    sides[d] = {std::max<int64_t>(sides[d].before, 0), std::max<int64_t>(sides[d].after, 0)};
    cuts |= cut[d].before || cut[d].after;
    adds |= sides[d].before || sides[d].after;
  }
  if (constant) {
    const Tensor kept = cuts ? cropped(x, cut) : x;
    return adds ? constant_pad(kept, sides, value.value_or(0)) : clone(kept);
  }
  if (mode == FLAM_PADDING_CIRCULAR && cuts) {  // the other end is what the cut leaves
    const Tensor kept = cropped(x, cut);
    return adds ? repeated(kept, sides, mode) : clone(kept);
  }
  const bool ordered = mode != FLAM_PADDING_CIRCULAR && is_channels_last(x);
  const Tensor from = ordered ? with_ordered_gradient(x) : x;
  const Tensor wide = adds ? repeated(from, sides, mode) : clone(from);
  return in_order(cuts ? contiguous(cropped(wide, cut)) : wide, ordered);
}

}  // namespace flambeau::ops
