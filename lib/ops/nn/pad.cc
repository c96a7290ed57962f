// Padding. A constant is a filled tensor with x copied into it; the other modes read x at positions
// that repeat, on the host row by row, on devices dimension by dimension. Negative sizes cut off.
#include "flambeau/pad.h"

#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "kernels/index/pad_rows.h"
#include "ops/fits.h"
#include "ops/formula.h"
#include "ops/index/indices.h"
#include "ops/nn/ordered.h"

namespace flambeau::ops {

namespace {

constexpr Op kConstantPadNdOp{"constant_pad_nd"}, kPadOp{"pad"};

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

// Where the elements of dimension d of a padded tensor come from.
struct Repeats {
  SmallVector<Sides, 8> sides;
  Dims sizes;  // of what is padded
  int32_t mode;

  bool pads(size_t d) const { return sides[d].before != 0 || sides[d].after != 0; }
  int64_t padded(size_t d) const { return sides[d].before + sizes[d] + sides[d].after; }
  int64_t at(size_t d, int64_t i) const { return source(mode, i - sides[d].before, sizes[d]); }
  Tensor places(size_t d, Device device) const {
    const Tensor t = flambeau::empty(Dims{padded(d)}, Dtype::i64, kCpu);
    for (int64_t i = 0; i < t.numel(); ++i) t.data_as<int64_t>()[i] = at(d, i);
    return to(t, device);
  }
};

// Dimension by dimension.
Tensor selected(const Tensor& x, const Repeats& r) {
  Tensor y = x;
  for (size_t d = 0; d < r.sides.size(); ++d)
    if (r.pads(d)) y = index_select(y, int64_t(d), r.places(d, x.device()));
  return y;
}

// The gradient of that.
Tensor folded(const Tensor& dy, const Repeats& r) {
  Tensor t = dy;
  for (size_t d = r.sides.size(); d-- > 0;) {
    if (!r.pads(d)) continue;
    Dims sizes(t.sizes());
    sizes[d] = r.sizes[d];
    t = index_add_(zeros(sizes, t.dtype(), t.device()), int64_t(d), r.places(d, t.device()), t);
  }
  return t;
}

struct RepeatBackward {
  Saved x;  // as torch saves it: a second pass needs the graph to be kept
  Repeats r;
  static constexpr auto name = "PadBackward0";
  Tensors operator()(const Tensor& dy) const {
    (void)x.get();
    return {folded(dy, r)};
  }
};

// On the host in one pass: planes are what the padded dimensions span.
Tensor padded_rows(const Tensor& x, const Repeats& r) {
  const Tensor from = contiguous(detach(x));
  const size_t last = r.sizes.size() - 1;
  size_t first = 0;
  while (first < last && !r.pads(first)) ++first;
  const int64_t bytes = int64_t(x.element_size());
  Dims sizes(r.sizes);
  std::vector<int64_t> rows{0}, columns;
  int64_t planes = 1, plane_bytes = bytes;
  for (size_t d = 0; d < first; ++d) planes *= sizes[d];
  for (size_t d = first; d <= last; ++d) {
    plane_bytes *= r.sizes[d];
    sizes[d] = r.padded(d);
  }
  // Before its places: of what is too large they would fill the memory first.
  const Tensor y = flambeau::empty(sizes, x.dtype(), x.device());
  for (size_t d = first; d < last; ++d) {
    std::vector<int64_t> inner;
    for (const int64_t outer : rows)
      for (int64_t i = 0; i < sizes[d]; ++i)
        inner.push_back(outer + r.at(d, i) * from.strides()[d] * bytes);
    rows = std::move(inner);
  }
  const auto [before, after] = r.sides[last];
  for (int64_t i = 0; i < sizes[last]; ++i)
    if (i < before || i >= sizes[last] - after) columns.push_back(r.at(last, i));
  const PadRowsArgs a{static_cast<char*>(y.data()),
                      static_cast<const char*>(from.data()),
                      planes,
                      int64_t(rows.size()),
                      plane_bytes,
                      before,
                      r.sizes[last],
                      after,
                      rows.data(),
                      columns.data()};
  const Dtype key = bytes == 1   ? Dtype::u8
                    : bytes == 2 ? Dtype::i16
                    : bytes == 4 ? Dtype::i32
                                 : Dtype::i64;
  kPadRows.find("pad", kCpu, key)(nullptr, &a);
  return y;
}

Tensor repeated(const Tensor& x, const SmallVector<Sides, 8>& sides, int32_t mode) {
  const Repeats r{sides, Dims(x.sizes()), mode};
  for (size_t d = 0; d < sides.size(); ++d)
    if (r.pads(d)) check_reach(mode, x, int64_t(d), sides[d]);
  if (!x.device().is_cpu() || x.numel() == 0) return selected(x, r);
  Call c{kPadOp, {x}};
  return c.track(padded_rows(c[0], r), RepeatBackward{c.save(c[0]), r});
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
