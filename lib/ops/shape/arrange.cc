// Elements in another order or several times: each result is one strided copy of an alias of its
// operand.
#include "base/error.h"
#include "kernels/map/join.h"
#include "ops/call.h"
#include "ops/ops.h"
#include "tensor/order.h"

namespace flambeau::ops {

namespace {

struct FlipBackward {
  Dims dims;
  static constexpr auto name = "FlipBackward0";
  Tensors operator()(const Tensor& dy) const { return {flip(dy, dims)}; }
};

struct RollBackward {
  Dims shifts, dims;
  static constexpr auto name = "RollBackward0";
  Tensors operator()(const Tensor& dy) const { return {roll(dy, shifts, dims)}; }
};

// Sums the copies: dimension 2i of the interleaved shape counts them.
struct RepeatBackward {
  Dims sizes, interleaved;
  static constexpr auto name = "RepeatBackward0";
  Tensors operator()(const Tensor& dy) const {
    Dims copies;
    for (size_t i = 0; i < interleaved.size(); i += 2) copies.push_back(int64_t(i));
    if (copies.empty()) return {dy};
    if (dy.numel() == 0) return {zeros(sizes, dy.dtype(), dy.device())};
    return {reshape(sum(reshape(dy, interleaved), copies), sizes)};
  }
};

// y = x moved by `shift` along dimension d.
void roll_into(const Tensor& y, const Tensor& x, size_t d, int64_t shift) {
  const int64_t n = x.sizes()[d];
  auto range = [&](const Tensor& t, int64_t start, int64_t count) {
    Dims sizes(t.sizes());
    sizes[d] = count;
    return alias(t, sizes, t.strides(), t.offset() + start * t.strides()[d]);
  };
  const Joined parts[] = {{range(y, shift, n - shift), range(x, 0, n - shift)},
                          {range(y, 0, shift), range(x, n - shift, shift)}};
  run_join(std::span(parts, shift ? 2 : 1), d);
}

}  // namespace

Tensor flip(const Tensor& x, DimsView dims) {
  Call c{op::flip, {x}};
  Dims strides(x.strides());
  int64_t offset = x.offset();
  SmallVector<bool, 8> seen(size_t(std::max<int64_t>(x.dim(), 1)), false);
  for (int64_t dim : dims) {
    const size_t d = size_t(wrap_dim(dim, x.dim()));
    check(!seen[d], Code::index, "dim ", d, " appears multiple times in the list of dims");
    seen[d] = true;
    if (x.dim() == 0) continue;
    offset += std::max<int64_t>(x.sizes()[d] - 1, 0) * strides[d];
    strides[d] = -strides[d];
  }
  Tensor y = flambeau::empty_like(x);
  run_cast(y, alias(x, x.sizes(), strides, offset));
  return c.track(std::move(y), FlipBackward{Dims(dims)});
}

Tensor fliplr(const Tensor& x) {
  check(x.dim() >= 2, Code::shape, "Input must be >= 2-d.");
  return flip(x, Dims{1});
}

Tensor flipud(const Tensor& x) {
  check(x.dim() >= 1, Code::shape, "Input must be >= 1-d.");
  return flip(x, Dims{0});
}

Tensor roll(const Tensor& x, DimsView shifts, DimsView dims) {
  check(!shifts.empty(), Code::invalid_argument, "`shifts` required");
  if (dims.empty() && shifts.size() == 1) {
    return reshape(roll(ravel(x), shifts, Dims{0}), x.sizes());
  }
  check(shifts.size() == dims.size(), Code::invalid_argument,
        "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  check(x.dim() > 0, Code::index, "Dimension specified as ", dims[0],
        " but tensor has no dimensions");
  Call c{op::roll, {x}};
  Tensor y = x;
  Dims back;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t d = size_t(wrap_dim(dims[i], x.dim()));
    const int64_t n = x.sizes()[d];
    back.push_back(-shifts[i]);
    if (x.numel() == 0) continue;
    Tensor next = empty_image(x.sizes(), x.dtype(), x.device(), is_channels_last(x));
    roll_into(next, y, d, (shifts[i] % n + n) % n);
    y = std::move(next);
  }
  if (y.is_same(x)) {
    y = flambeau::empty_like(x);
    run_cast(y, x);
  }
  return c.track(std::move(y), RollBackward{back, Dims(dims)});
}

Tensor repeat(const Tensor& x, DimsView repeats) {
  check(repeats.size() >= x.sizes().size(), Code::shape,
        "Number of dimensions of repeat dims can not be "
        "smaller than number of dimensions of tensor");
  Call c{op::repeat, {x}};
  const size_t extra = repeats.size() - x.sizes().size();
  Dims shape, interleaved, from_strides;
  for (size_t i = 0; i < repeats.size(); ++i) {
    check(repeats[i] >= 0, Code::shape, "Trying to create tensor with negative dimension ",
          repeats[i], ": repeat ", ShapeText{repeats});
    const int64_t n = i < extra ? 1 : x.sizes()[i - extra];
    shape.push_back(n * repeats[i]);
    interleaved.push_back(repeats[i]);
    interleaved.push_back(n);
    from_strides.push_back(0);
    from_strides.push_back(i < extra ? 0 : x.strides()[i - extra]);
  }
  Tensor y = flambeau::empty(shape, x.dtype(), x.device());
  if (y.numel()) {
    run_cast(alias(y, interleaved, contiguous_strides(interleaved), y.offset()),
             alias(x, interleaved, from_strides, x.offset()));
  }
  return c.track(std::move(y), RepeatBackward{Dims(x.sizes()), std::move(interleaved)});
}

Tensor tile(const Tensor& x, DimsView dims) {
  Dims repeats(dims);
  while (repeats.size() < x.sizes().size()) repeats.insert(0, 1);
  return repeat(x, repeats);
}

Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim) {
  check(repeats >= 0, Code::invalid_argument, "repeats can not be negative, got ", repeats);
  const Tensor flat = dim ? atleast_1d(x) : ravel(x);
  const size_t d = dim ? size_t(wrap_dim(*dim, x.dim())) : 0;
  Dims wide(flat.sizes()), shape(flat.sizes());
  wide.insert(d + 1, repeats);
  shape[d] *= repeats;
  const Tensor repeated = reshape(expand(unsqueeze(flat, int64_t(d) + 1), wide), shape);
  return repeated.storage() == x.storage() ? clone(repeated) : repeated;
}

}  // namespace flambeau::ops
