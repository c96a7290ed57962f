// Views: the same storage under another geometry. Every view is recorded by one gradient, which
// scatters the view's gradient back into the base's geometry; simple views have cheaper inverses of
// their own.
// gcc 12 takes the inline buffer of a moved SmallVector for one that is deleted.
#pragma GCC diagnostic ignored "-Wfree-nonheap-object"
#include "ops/shape/view.h"
#include "base/error.h"
#include "ops/scalar_name.h"
#include "tensor/parts.h"

namespace flambeau::ops {

namespace {

struct PermuteBackward {
  Dims inverse;
  static constexpr auto name = "PermuteBackward0";
  Tensors operator()(const Tensor& dy) const { return {permute(dy, inverse)}; }
};

struct ExpandBackward {
  Dims sizes;
  static constexpr auto name = "ExpandBackward0";
  Tensors operator()(const Tensor& dy) const { return {sum_to(dy, sizes)}; }
};

struct TransposeBackward : PermuteBackward {
  static constexpr auto name = "TransposeBackward0";
};
struct TBackward : PermuteBackward {
  static constexpr auto name = "TBackward0";
};
struct SliceBackward : PartBackward {
  static constexpr auto name = "SliceBackward0";
};
struct SelectBackward : PartBackward {
  static constexpr auto name = "SelectBackward0";
};
struct SqueezeBackward : ReshapeBackward {
  static constexpr auto name = "SqueezeBackward0";
};
struct SqueezeDimBackward : ReshapeBackward {
  static constexpr auto name = "SqueezeBackward1";
};
struct UnsqueezeBackward : ReshapeBackward {
  static constexpr auto name = "UnsqueezeBackward0";
};

// Whether two index tuples of a view may name one element.
bool may_overlap(DimsView sizes, DimsView strides) {
  SmallVector<std::pair<int64_t, int64_t>, 8> dims;  // stride, size
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) dims.push_back({strides[i], sizes[i]});
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;  // farthest element that smaller strides get to
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

Dims infer_size(DimsView shape, int64_t numel, DimsView from) {
  Dims out(shape);
  int64_t known = 1;
  int infer = -1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      check(infer < 0, Code::shape, "only one dimension can be inferred, got ", ShapeText{shape});
      infer = int(i);
    } else {
      check(out[i] >= 0, Code::shape, "invalid shape dimension ", out[i], " in ", ShapeText{shape});
      check(!__builtin_mul_overflow(known, out[i], &known), Code::shape, "shape '",
            ShapeText{shape}, "' is invalid for input of size ", numel, " with shape ",
            ShapeText{from});
    }
  }
  if (infer >= 0) {
    check(known != 0 || numel != 0, Code::shape, "cannot reshape tensor of 0 elements into shape ",
          ShapeText{shape},
          " because the unspecified dimension size -1 can be any value and is ambiguous");
    check(known != 0 && numel % known == 0, Code::shape, "shape '", ShapeText{shape},
          "' is invalid for input of size ", numel, " with shape ", ShapeText{from});
    out[size_t(infer)] = numel / known;
  } else {
    check(known == numel, Code::shape, "shape '", ShapeText{shape},
          "' is invalid for input of size ", numel, " with shape ", ShapeText{from});
  }
  return out;
}

// Strides that show x under `sizes` without a copy; false where there are none.
bool view_strides(const Tensor& x, DimsView sizes, Dims& strides) {
  if (x.is_contiguous()) {
    strides = contiguous_strides(sizes);
    return true;
  }
  strides = Dims(sizes.size());
  int64_t view_d = int64_t(sizes.size()) - 1;
  int64_t chunk = 1, viewed = 1;  // elements of x's current dense run, and of the view's part of it
  int64_t base_stride = x.dim() ? x.strides()[size_t(x.dim()) - 1] : 1;
  for (int64_t d = x.dim() - 1; d >= 0; --d) {
    chunk *= x.sizes()[size_t(d)];
    const bool run_ends = d == 0 || (x.sizes()[size_t(d) - 1] != 1 &&
                                     x.strides()[size_t(d) - 1] != chunk * base_stride);
    if (!run_ends) continue;
    while (view_d >= 0 && (viewed < chunk || sizes[size_t(view_d)] == 1)) {
      strides[size_t(view_d)] = viewed * base_stride;
      viewed *= sizes[size_t(view_d--)];
    }
    if (viewed != chunk) return false;
    if (d > 0) {
      base_stride = x.strides()[size_t(d) - 1];
      chunk = viewed = 1;
    }
  }
  return view_d == -1;
}

// A view by pairs of complex numbers, or of numbers made of pairs: laid out in reals.
struct PairsBackward {
  AsStridedBackward reals;
  bool of_complex;  // the base is
  static constexpr auto name = "AsStridedBackward0";
  Tensors operator()(const Tensor& dy) const {
    Tensors dx = reals(is_complex(dy.dtype()) ? view_as_real(dy) : dy);
    if (of_complex) dx[0] = pairs_as_complex(dx[0]);
    return dx;
  }
};

Ref<Node> view_node(const Tensor& v) {
  const Tensor& base = v.base();
  const bool same = is_complex(base.dtype()) == is_complex(v.dtype());
  const RealLayout from = same ? RealLayout{Dims(base.sizes()), Dims(base.strides()), base.offset()}
                               : real_layout(base);
  const RealLayout to =
      same ? RealLayout{Dims(v.sizes()), Dims(v.strides()), v.offset()} : real_layout(v);
  AsStridedBackward back{from.sizes, from.strides, to.sizes, to.strides, to.offset - from.offset};
  Ref<Node> node;
  if (same) {
    node = make_ref<NodeOf<AsStridedBackward>>(std::move(back));
  } else {
    node =
        make_ref<NodeOf<PairsBackward>>(PairsBackward{std::move(back), is_complex(base.dtype())});
  }
  node->next.push_back(gradient_edge(base));
  node->outputs.push_back(OutputMeta(v));
  return node;
}
[[maybe_unused]] const bool registered = (make_view_node = view_node, true);

}  // namespace

Tensors AsStridedBackward::operator()(const Tensor& dy) const {
  // Both lie in one run of elements, in which the view may begin before its operand.
  const int64_t first = std::max<int64_t>(0, -offset), view_first = first + offset;
  int64_t span = first + 1, reach = view_first + 1;
  for (size_t i = 0; i < sizes.size(); ++i) span += (sizes[i] - 1) * strides[i];
  for (size_t i = 0; i < view_sizes.size(); ++i) reach += (view_sizes[i] - 1) * view_strides[i];
  Tensor flat = zeros(Dims{std::max(span, reach)}, dy.dtype(), dy.device());
  if (may_overlap(view_sizes, view_strides)) {
    const Tensor positions =
        as_strided(arange(wrapped_number(int64_t{0}), wrapped_number(flat.numel()),
                          wrapped_number(int64_t{1}), Dtype::i64, dy.device()),
                   view_sizes, view_strides, view_first);
    flat = index_add(flat, 0, reshape(positions, Dims{-1}), reshape(dy, Dims{-1}), 1);
  } else {
    const Tensor part = as_strided(flat, view_sizes, view_strides, view_first);
    copy_(part, dy);
  }
  return {as_strided(flat, sizes, strides, first)};
}

Tensor view(const Tensor& x, DimsView shape) {
  const Dims sizes = infer_size(shape, x.numel(), x.sizes());
  Dims strides;
  check(view_strides(x, sizes, strides), Code::shape,
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans "
        "across two contiguous subspaces). Use .reshape(...) instead.");
  return make_view(op::view, x, sizes, strides, x.offset(), ReshapeBackward{Dims(x.sizes())});
}

Tensor view_dtype(const Tensor& x, Dtype dtype) {
  check(dtype != Dtype::none, Code::dtype, "view: dtype must name an element type, got 0 (none)");
  const auto own = int64_t(x.element_size()), other = int64_t(size_of(dtype));
  Dims sizes(x.sizes()), strides(x.strides());
  int64_t offset = x.offset();
  if (own != other) {
    const auto need = [&](bool holds, int64_t got, const auto&... what) {
      check(holds, Code::shape, "self.", what..., " to view ", scalar_name(x.dtype()), " as ",
            scalar_name(dtype), " (different element sizes), but got ", got);
    };
    need(x.dim() > 0, 0, "dim() cannot be 0");
    need(strides.back() == 1 || sizes.back() <= 1, strides.back(), "stride(-1) must be 1");
    const int64_t ratio = own > other ? own / other : other / own;
    const auto fits = [&](int64_t n, const auto&... what) {
      need(own > other || n % ratio == 0, n, what..., " must be divisible by ", ratio);
    };
    const auto scaled = [&](int64_t n) { return own > other ? n * ratio : n / ratio; };
    fits(sizes.back(), "size(-1)");
    fits(offset, "storage_offset()");
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
      fits(strides[i], "stride(", i, ")");
      strides[i] = scaled(strides[i]);
    }
    sizes.back() = scaled(sizes.back());
    strides.back() = 1;
    offset = scaled(offset);
  }
  Tensor v(make_ref<TensorImpl>(x.storage(), offset, sizes, strides, dtype));
  v.impl()->inference = x.impl()->inference;
  return v;
}

Tensor reshape(const Tensor& x, DimsView shape) {
  const Dims sizes = infer_size(shape, x.numel(), x.sizes());
  Dims strides;
  if (!view_strides(x, sizes, strides)) {
    Tensor copied = view(contiguous(x), sizes);
    copied.impl()->base = {};  // no program can hold the copy that this would be a view of
    return copied;
  }
  return make_view(op::view, x, sizes, strides, x.offset(), ReshapeBackward{Dims(x.sizes())});
}

Tensor as_strided(const Tensor& x, DimsView sizes, DimsView strides,
                  std::optional<int64_t> storage_offset) {
  check(sizes.size() == strides.size(), Code::shape,
        "as_strided: mismatch in length of strides and shape: ", sizes.size(), " sizes but ",
        strides.size(), " strides");
  check(std::ranges::all_of(strides, [](int64_t s) { return s >= 0; }), Code::shape,
        "as_strided: Negative strides are not supported at the moment, got strides: ",
        ShapeText{strides});
  const int64_t span = span_of(sizes, strides);
  const auto held = int64_t(x.storage()->bytes() / x.element_size());
  const int64_t offset = storage_offset.value_or(x.offset());
  check(offset >= 0 && (span == 0 || (offset <= held && span <= held - offset)), Code::shape,
        "as_strided: sizes ", ShapeText{sizes}, ", strides ", to_string(strides), " and offset ",
        offset, " reach outside the storage of ", x);
  return make_view(op::as_strided, x, sizes, strides, offset,
                   AsStridedBackward{Dims(x.sizes()), Dims(x.strides()), Dims(sizes), Dims(strides),
                                     offset - x.offset()});
}

namespace {

template <class Backward> Tensor permuted(const Op& name, const Tensor& x, DimsView order) {
  const size_t n = order.size();
  Dims sizes(n), strides(n), inverse(n);
  for (size_t i = 0; i < n; ++i) {
    inverse[size_t(order[i])] = int64_t(i);
    sizes[i] = x.sizes()[size_t(order[i])];
    strides[i] = x.strides()[size_t(order[i])];
  }
  Backward f;
  f.inverse = std::move(inverse);
  return make_view(name, x, sizes, strides, x.offset(), std::move(f));
}

Dims swapped_order(const Tensor& x, int64_t dim0, int64_t dim1) {
  Dims order(x.sizes().size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
  const int64_t a = wrap_dim(dim0, x.dim()), b = wrap_dim(dim1, x.dim());
  if (x.dim() > 0) std::swap(order[size_t(a)], order[size_t(b)]);
  return order;
}

}  // namespace

Tensor permute(const Tensor& x, DimsView dims) {
  check(dims.size() == x.sizes().size(), Code::shape,
        "permute: number of dimensions in the "
        "tensor input does not match the length of the desired ordering of dimensions i.e. "
        "input.dim() = ",
        x.dim(), " is not equal to len(dims) = ", dims.size());
  Dims order;
  SmallVector<bool, 8> seen(dims.size(), false);
  for (int64_t d : dims) {
    const int64_t at = wrap_dim(d, x.dim());
    check(!seen[size_t(at)], Code::shape,
          "permute(): duplicate dims are not allowed: ", ShapeText{dims});
    seen[size_t(at)] = true;
    order.push_back(at);
  }
  return permuted<PermuteBackward>(op::permute, x, order);
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  return permuted<TransposeBackward>(op::transpose, x, swapped_order(x, dim0, dim1));
}

Tensor t(const Tensor& x) {
  check(x.dim() <= 2, Code::shape, "t() expects a tensor with <= 2 dimensions, but self is ",
        x.dim(), "D");
  return permuted<TBackward>(op::t, x,
                             x.dim() < 2 ? swapped_order(x, 0, 0) : swapped_order(x, 0, 1));
}

Tensor expand(const Tensor& x, DimsView size) {
  check(size.size() >= x.sizes().size(), Code::shape, "expand: the number of sizes provided (",
        size.size(), ") must be greater or equal to the number of dimensions in the tensor (",
        x.dim(), ")");
  Dims sizes(size), strides(size.size(), 0);
  const size_t shift = size.size() - x.sizes().size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i < shift) {
      check(sizes[i] >= 0, Code::shape,
            "expand: -1 isn't allowed in a leading, non-existing dimension ", i);
      continue;
    }
    const int64_t have = x.sizes()[i - shift];
    if (sizes[i] == -1) sizes[i] = have;
    check(sizes[i] == have || have == 1, Code::shape, "The expanded size of the tensor (", sizes[i],
          ") must match the existing size (", have, ") at non-singleton dimension ", i,
          ".  Target sizes: ", ShapeText{size}, ".  Tensor sizes: ", ShapeText{x.sizes()});
    if (sizes[i] == have) strides[i] = x.strides()[i - shift];
  }
  for (size_t i = shift; i-- > 0;) {  // as unsqueeze lays out a dimension of one
    if (sizes[i] == 1) strides[i] = i + 1 < sizes.size() ? sizes[i + 1] * strides[i + 1] : 1;
  }
  return make_view(op::expand, x, sizes, strides, x.offset(), ExpandBackward{Dims(x.sizes())});
}

Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step) {
  check(x.dim() > 0, Code::shape, "slice() cannot be applied to a 0-dim tensor.");
  check(step > 0, Code::invalid_argument, "slice step must be positive, got ", step);
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  const int64_t n = x.sizes()[d];
  start = std::clamp<int64_t>(start < 0 ? start + n : start, 0, n);
  end = std::clamp<int64_t>(end < 0 ? end + n : end, start, n);
  Dims sizes(x.sizes()), strides(x.strides()), dense = contiguous_strides(x.sizes());
  const int64_t skipped = start * dense[d];
  step = std::min(step, std::max<int64_t>(n, 1));  // beyond the end is beyond the end
  sizes[d] = (end - start + step - 1) / step;
  strides[d] *= step;
  dense[d] *= step;
  return make_view(op::slice, x, sizes, strides, x.offset() + start * x.strides()[d],
                   SliceBackward{{Dims(x.sizes()), sizes, dense, skipped}});
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  check(x.dim() > 0, Code::index, "select() cannot be applied to a 0-dim tensor.");
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  const int64_t n = x.sizes()[d];
  check(index >= -n && index < n, Code::index, "index ", index, " is out of bounds for dimension ",
        dim, " with size ", n);
  if (index < 0) index += n;
  Dims sizes(x.sizes()), strides(x.strides()), dense = contiguous_strides(x.sizes());
  const int64_t skipped = index * dense[d];
  sizes.erase(d);
  strides.erase(d);
  dense.erase(d);
  return make_view(op::select, x, sizes, strides, x.offset() + index * x.strides()[d],
                   SelectBackward{{Dims(x.sizes()), sizes, dense, skipped}});
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  check(x.dim() > 0, Code::shape, "narrow() cannot be applied to a 0-dim tensor.");
  const int64_t n = x.size(dim);
  check(start >= -n && start <= n, Code::index, "start ", start, " is out of range for dimension ",
        dim, " with size ", n);
  if (start < 0) start += n;
  check(length >= 0 && length <= n - start, Code::index, "start (", start, ") + length (", length,
        ") exceeds dimension size (", n, ").");
  return slice(x, dim, start, start + length, 1);
}

Tensor squeeze(const Tensor& x, DimsView dim) {
  SmallVector<bool, 8> drop(std::max<size_t>(x.sizes().size(), 1), dim.data() == nullptr);
  for (int64_t d : dim) {
    const int64_t at = wrap_dim(d, x.dim());
    check(!drop[size_t(at)], Code::index, "dim ", at,
          " appears multiple times in the list of dims");
    drop[size_t(at)] = true;
  }
  Dims sizes, strides;
  for (size_t i = 0; i < x.sizes().size(); ++i) {
    if (drop[i] && x.sizes()[i] == 1) continue;
    sizes.push_back(x.sizes()[i]);
    strides.push_back(x.strides()[i]);
  }
  if (!dim.data()) {
    return make_view(op::squeeze, x, sizes, strides, x.offset(),
                     SqueezeBackward{{Dims(x.sizes())}});
  }
  return make_view(op::squeeze, x, sizes, strides, x.offset(),
                   SqueezeDimBackward{{Dims(x.sizes())}});
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  const size_t d = size_t(wrap_dim(dim, x.dim() + 1));
  Dims sizes(x.sizes()), strides(x.strides());
  const int64_t stride = d < sizes.size() ? sizes[d] * strides[d] : 1;
  sizes.insert(d, 1);
  strides.insert(d, stride);
  return make_view(op::unsqueeze, x, sizes, strides, x.offset(),
                   UnsqueezeBackward{{Dims(x.sizes())}});
}

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim) {
  const int64_t first = wrap_dim(start_dim, x.dim()), last = wrap_dim(end_dim, x.dim());
  check(first <= last, Code::index,
        "flatten() has invalid args: start_dim cannot come after end_dim");
  if (x.dim() == 0) return reshape(x, Dims{1});
  if (first == last) return x;
  Dims sizes;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i > first && i <= last) {
      sizes.back() *= x.sizes()[size_t(i)];
    } else {
      sizes.push_back(x.sizes()[size_t(i)]);
    }
  }
  return reshape(x, sizes);
}

Tensor detach(const Tensor& x) { return alias(x); }

}  // namespace flambeau::ops
