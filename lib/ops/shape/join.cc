// Joining: every operand is copied, with conversion, into its part of one output.
#include "flambeau/join.h"
#include "base/error.h"
#include "kernels/map/join.h"
#include "ops/call.h"
#include "ops/ops.h"
#include "tensor/order.h"

namespace flambeau::ops {

namespace {

struct CatBackward {
  size_t dim;
  Dims sizes;  // along dim, one per operand
  static constexpr auto name = "CatBackward0";
  Tensors operator()(const Tensor& dy) const {
    Tensors dx;
    int64_t start = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      dx.push_back(!wanted(i)      ? Tensor()
                   : sizes[i] >= 0 ? narrow(dy, int64_t(dim), start, sizes[i])
                                   : zeros(Dims{0}, dy.dtype(), dy.device()));
      start += std::max<int64_t>(sizes[i], 0);
    }
    return dx;
  }
};

struct StackBackward {
  size_t dim;
  size_t count;
  static constexpr auto name = "StackBackward0";
  Tensors operator()(const Tensor& dy) const {
    Tensors dx;
    for (size_t i = 0; i < count; ++i) {
      dx.push_back(wanted(i) ? select(dy, int64_t(dim), int64_t(i)) : Tensor());
    }
    return dx;
  }
};

std::vector<Operand> operands_of(TensorsView tensors) { return {tensors.begin(), tensors.end()}; }

Dtype common_dtype(const Call& c) {
  SmallVector<const Tensor*, 8> ts;
  for (size_t i = 0; i < c.size(); ++i) ts.push_back(&c[i]);
  return result_type(ts);
}

// [start, start + n) of y's dimension d, for writing.
Tensor part(const Tensor& y, size_t d, int64_t start, int64_t n) {
  Dims sizes(y.sizes());
  sizes[d] = n;
  return alias(y, sizes, y.strides(), y.offset() + start * y.strides()[d]);
}

// torch's legacy: an empty vector takes part in no join.
bool is_skipped(const Tensor& x) { return x.dim() == 1 && x.numel() == 0; }

void check_joinable(const Tensor& first, const Tensor& x, size_t d, size_t at) {
  check(x.dim() == first.dim(), Code::shape, "Tensors must have same number of dimensions: got ",
        first.dim(), " and ", x.dim());
  for (size_t i = 0; i < x.sizes().size(); ++i) {
    check(i == d || x.sizes()[i] == first.sizes()[i], Code::shape,
          "Sizes of tensors must match except in dimension ", d, ". Expected size ",
          first.sizes()[i], " but got size ", x.sizes()[i], " for tensor number ", at,
          " in the list.");
  }
}

template <class F> std::vector<Tensor> each(TensorsView tensors, F f) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}

// Images whose channels come last are stacked as if joined along d, which is then split in two.
bool stacks_channels_last(const Call& c, size_t d) {
  bool all = int64_t(d) < c[0].dim();
  for (size_t i = 0; i < c.size(); ++i) all = all && is_channels_last(c[i]);
  return all;
}

Tensor empty_stack(DimsView image, size_t d, int64_t n, Dtype dtype, Device device) {
  Dims shape(image), joined(image);
  joined[d] *= n;
  Dims strides = channels_last_strides(joined);
  shape.insert(d, n);
  strides.insert(d, strides[d] * image[d]);
  Tensor y = flambeau::empty_strided(shape, strides, dtype, device);
  return y;
}

// Under the name of the op that was asked for, which an error then tells.
Tensor cat_as(Form name, TensorsView tensors, int64_t dim) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(tensors[i].dim() > 0, Code::shape, "zero-dimensional tensor (at position ", i,
          ") cannot be concatenated");
  }
  Call c{name, operands_of(tensors)};
  const Tensor* first = nullptr;
  for (const Tensor& t : tensors) {
    if (!first && !is_skipped(t)) first = &t;
  }
  const bool nothing = !first;  // only empty vectors: along whatever dimension, one of them
  if (nothing) first = &tensors[0];
  const size_t d = nothing ? 0 : size_t(wrap_dim(dim, first->dim()));
  Dims shape(first->sizes()), along;
  shape[d] = 0;
  bool channels_last = true;
  for (size_t i = 0; i < c.size(); ++i) {
    const bool skipped = is_skipped(c[i]) && first->dim() != 1;
    channels_last = channels_last && (skipped || is_channels_last(c[i]));
    if (!skipped) {
      check_joinable(*first, c[i], d, i);
      shape[d] += c[i].sizes()[d];
    }
    along.push_back(skipped ? -1 : c[i].sizes()[d]);
  }
  Tensor y = c.output(shape, common_dtype(c), channels_last);
  int64_t start = 0;
  std::vector<Joined> parts;
  for (size_t i = 0; i < c.size(); ++i) {
    if (along[i] <= 0) continue;
    parts.push_back({part(y, d, start, along[i]), c[i]});
    start += along[i];
  }
  run_join(parts, d);
  return c.track(std::move(y), CatBackward{d, std::move(along)});
}

}  // namespace

Tensor cat(TensorsView tensors, int64_t dim, Into into) {
  check(!tensors.empty(), Code::shape, "torch.cat(): expected a non-empty list of Tensors");
  for (const Tensor& t : tensors) check_no_overlap(op::cat.to(into), {&t});
  return cat_as(op::cat.to(into), tensors, dim);
}

Tensor stack(TensorsView tensors, int64_t dim, Into into) {
  check(!tensors.empty(), Code::shape, "stack expects a non-empty TensorList");
  Call c{op::stack.to(into), operands_of(tensors), Devices::exact};
  const Tensor& first = tensors[0];
  const size_t d = size_t(wrap_dim(dim, first.dim() + 1));
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(std::equal(first.sizes().begin(), first.sizes().end(), tensors[i].sizes().begin(),
                     tensors[i].sizes().end()),
          Code::shape, "stack expects each tensor to be equal size, but got ",
          ShapeText{first.sizes()}, " at entry 0 and ", ShapeText{tensors[i].sizes()}, " at entry ",
          i);
  }
  Dims shape(first.sizes());
  shape.insert(d, int64_t(tensors.size()));
  Tensor y = into.destination || !stacks_channels_last(c, d)
                 ? c.output(shape, common_dtype(c))
                 : empty_stack(first.sizes(), d, int64_t(c.size()), common_dtype(c), c.device());
  Dims strides(y.strides());
  strides.erase(d);
  std::vector<Joined> parts;
  for (size_t i = 0; i < c.size(); ++i) {
    const int64_t start = y.offset() + int64_t(i) * y.strides()[d];
    parts.push_back({alias(y, first.sizes(), strides, start), c[i]});
  }
  run_join(parts, d);
  return c.track(std::move(y), StackBackward{d, tensors.size()});
}

Tensor hstack(TensorsView tensors, Into) {
  check(!tensors.empty(), Code::shape, "hstack expects a non-empty TensorList");
  const std::vector<Tensor> xs = each(tensors, atleast_1d);
  return cat_as(op::hstack, xs, xs[0].dim() == 1 ? 0 : 1);
}

Tensor vstack(TensorsView tensors, Into) {
  check(!tensors.empty(), Code::shape, "vstack expects a non-empty TensorList");
  return cat_as(op::vstack, each(tensors, atleast_2d), 0);
}

Tensor dstack(TensorsView tensors, Into) {
  check(!tensors.empty(), Code::shape, "dstack expects a non-empty TensorList");
  return cat_as(op::dstack, each(tensors, atleast_3d), 2);
}

std::vector<Tensor> broadcast_tensors(TensorsView tensors) {
  Dims shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes(shape, t.sizes());
  return each(tensors, [&](const Tensor& t) { return expand(t, shape); });
}

std::vector<Tensor> meshgrid(TensorsView tensors, int32_t indexing) {
  check(!tensors.empty(), Code::shape, "meshgrid expects a non-empty TensorList");
  const bool xy = indexing == FLAM_MESHGRID_XY && tensors.size() >= 2;
  Dims shape;
  for (const Tensor& t : tensors) {
    check(t.dim() <= 1, Code::shape,
          "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", t);
    check(t.dtype() == tensors[0].dtype(), Code::dtype,
          "torch.meshgrid expects all tensors to have the "
          "same dtype, got ",
          name_of(tensors[0].dtype()), " and ", name_of(t.dtype()));
    check(t.device() == tensors[0].device(), Code::device_mismatch,
          "Expected all tensors to be on the same device: meshgrid got ", tensors[0], " and ", t);
    shape.push_back(t.numel());
  }
  if (xy) std::swap(shape[0], shape[1]);
  std::vector<Tensor> grids;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t d = xy && i < 2 ? 1 - i : i;
    Dims sizes(tensors.size(), 1);
    sizes[d] = tensors[i].numel();
    grids.push_back(expand(view(tensors[i], sizes), shape));
  }
  return grids;
}

}  // namespace flambeau::ops
