// Copies in which a part is replaced, and the diagonal filled in place. One gradient serves all:
// the part's goes to what replaced it, the rest to the operand.
#include "base/error.h"
#include "ops/call.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

template <class View> Tensor replaced(const Tensor& x, const Tensor& src, const View& view);

template <class View> struct ReplacedBackward {
  View view;
  static constexpr auto name = View::backward;
  Tensors operator()(const Tensor& dy) const {
    const Tensor part = view(dy);
    return {wanted(0) ? replaced(dy, zeros_as(part), view) : Tensor(), part};
  }
};

template <class View> Tensor replaced(const Tensor& x, const Tensor& src, const View& view) {
  Call c{View::op_of, {x, src}};
  Tensor y;
  {
    const GradMode off(false);
    y = clone(x);
    const Tensor part = view(y);
    check(std::equal(part.sizes().begin(), part.sizes().end(), src.sizes().begin(),
                     src.sizes().end()),
          Code::shape, View::op_of, "(): expected src to have a size equal to the part of self. ",
          "src size = ", ShapeText{src.sizes()}, ", part size = ", ShapeText{part.sizes()});
    copy_(part, src);
  }
  return c.track(alias(y), ReplacedBackward<View>{view});
}

struct SelectView {
  int64_t dim, index;
  static constexpr const Op& op_of = op::select_scatter;
  static constexpr auto backward = "SelectScatterBackward0";
  Tensor operator()(const Tensor& t) const { return select(t, dim, index); }
};
struct SliceView {
  int64_t dim, start, end, step;
  static constexpr const Op& op_of = op::slice_scatter;
  static constexpr auto backward = "SliceScatterBackward0";
  Tensor operator()(const Tensor& t) const { return slice(t, dim, start, end, step); }
};
struct DiagonalView {
  int64_t offset, dim1, dim2;
  static constexpr const Op& op_of = op::diagonal_scatter;
  static constexpr auto backward = "DiagonalScatterBackward0";
  Tensor operator()(const Tensor& t) const { return diagonal(t, offset, dim1, dim2); }
};

}  // namespace

Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index) {
  return replaced(x, src, SelectView{dim, index});
}

Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step, Into) {
  return replaced(x, src, SliceView{dim, start.value_or(0), end.value_or(INT64_MAX), step});
}

namespace {

// Which places of `count` in memory a view shows, in the view's order.
Tensor shown_places(int64_t count, DimsView size, DimsView stride, int64_t offset, Device device) {
  const Tensor all = arange(num(int64_t{0}), num(count), num(int64_t{1}), Dtype::i64, device);
  return reshape(as_strided(all, size, stride, offset), Dims{-1});
}

// Memory laid out as the operand's has places that nobody shows (gaps: no gradient) and others that
// several elements show (their gradients add up).
struct AsStridedScatterBackward {
  Dims sizes, strides, view_sizes, view_strides;
  int64_t offset;
  static constexpr auto name = "AsStridedScatterBackward0";
  Tensors operator()(const Tensor& dy) const {
    const int64_t count = span_of(sizes, strides);
    Tensor rest, part;
    if (wanted(0)) {
      const Tensor places = shown_places(count, view_sizes, view_strides, offset, dy.device());
      const Tensor free = zeros(Dims{count}, Dtype::boolean, dy.device());
      const Tensor taken = index_fill(free, 0, places, num(int64_t{1}));
      rest = masked_fill(dy, as_strided(taken, sizes, strides, 0), num(0.0));
    }
    if (wanted(1)) {
      const Tensor none = zeros(Dims{count}, dy.dtype(), dy.device());
      const Tensor places = shown_places(count, sizes, strides, 0, dy.device());
      const Tensor memory = index_add(none, 0, places, reshape(dy, Dims{-1}));
      part = as_strided(memory, view_sizes, view_strides, offset);
    }
    return {rest, part};
  }
};

}  // namespace

Tensor as_strided_scatter(const Tensor& x, const Tensor& src, DimsView size, DimsView stride,
                          std::optional<int64_t> storage_offset) {
  Call c{op::as_strided_scatter, {x, src}};
  const int64_t first = storage_offset.value_or(x.offset()) - x.offset();
  const Dims span{span_of(x.sizes(), x.strides())}, one{1};
  check(std::equal(size.begin(), size.end(), src.sizes().begin(), src.sizes().end()), Code::shape,
        "expected src to have a size equal to the slice of self. src size = ",
        ShapeText{src.sizes()}, ", slice size = ", ShapeText{size});
  check(first >= 0, Code::shape, "as_strided_scatter: the view begins before ", x);
  Tensor y;
  {
    const GradMode off(false);
    const Tensor places = shown_places(span[0], size, stride, first, x.device());
    const Tensor flat = as_strided(x, span, one, x.offset());
    const Tensor made = index_copy(flat, 0, places, to_dtype(reshape(src, Dims{-1}), x.dtype()));
    y = alias(made, x.sizes(), x.strides(), 0);
  }
  return c.track(std::move(y), AsStridedScatterBackward{Dims(x.sizes()), Dims(x.strides()),
                                                        Dims(size), Dims(stride), first});
}

Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  return replaced(x, src, DiagonalView{offset, dim1, dim2});
}

Tensor fill_diagonal_(const Tensor& x, const Tensor& value, bool wrap) {
  check(x.dim() >= 2, Code::shape, "dimensions must larger than 1");
  int64_t step = 0, least = x.size(0);
  for (int64_t d = 0; d < x.dim(); ++d) {
    check(x.dim() == 2 || x.size(d) == x.size(0), Code::shape,
          "all dimensions of input must be of equal length");
    step += x.stride(d);
    least = std::min(least, x.size(d));
  }
  if (x.numel() == 0) return x;
  const Dims count{least}, steps{step};
  fill_(as_strided(x, count, steps, x.offset()), value);
  if (!wrap || x.dim() != 2) return x;
  const int64_t period = x.size(1) + 1;
  for (int64_t row = period; row < x.size(0); row += period) {
    const Dims rest{std::min(x.size(0) - row, x.size(1))};
    fill_(as_strided(x, rest, steps, x.offset() + row * x.stride(0)), value);
  }
  return x;
}

}  // namespace flambeau::ops
