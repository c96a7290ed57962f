// Picking and placing elements along one dimension: gather is the gradient of scatter_add and the
// reverse.
#include "base/error.h"
#include "ops/call.h"
#include "ops/fits.h"
#include "ops/index/indices.h"
#include "ops/scalar_name.h"

namespace flambeau::ops {

namespace {

struct GatherBackward {
  Saved index;
  int64_t dim;
  Dims sizes;
  static constexpr auto name = "GatherBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {scatter_add_(zeros(sizes, dy.dtype(), dy.device()), dim, index, dy)};
  }
};

struct ScatterBackward {
  Saved index;
  int64_t dim;
  bool number;
  static constexpr auto name = "ScatterBackward0";
  Tensors operator()(const Tensor& dy) const {
    Tensor ds = wanted(2) ? gather(dy, dim, index) : Tensor();
    return {wanted(0) ? scatter(dy, dim, index, wrapped_number(0.0)) : Tensor(), Tensor(),
            ds && number ? sum(ds) : ds};
  }
};

struct ScatterAddBackward {
  Saved index;
  int64_t dim;
  static constexpr auto name = "ScatterAddBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {dy, Tensor(), wanted(2) ? gather(dy, dim, index) : Tensor()};
  }
};

int64_t dims_of(const Tensor& t) { return std::max<int64_t>(t.dim(), 1); }

// Index must not be greater than `x` but along `skip` (-1: nowhere).
void check_covers(const char* op, const char* who, const Tensor& x, const Tensor& index,
                  int64_t skip) {
  check(index.numel() == 0 || dims_of(x) == dims_of(index), Code::shape, op,
        "(): Index tensor must have the same number of dimensions as ", who,
        " tensor: ", ShapeText{index.sizes()}, " and ", ShapeText{x.sizes()});
  if (index.numel() == 0 || x.dim() != index.dim()) return;
  for (int64_t d = 0; d < x.dim(); ++d) {
    check(d == skip || index.sizes()[size_t(d)] <= x.sizes()[size_t(d)], Code::shape, op,
          "(): Expected index ", ShapeText{index.sizes()}, " to be no larger than ", who, " ",
          ShapeText{x.sizes()}, " apart from dimension ", skip);
  }
}

// The part of src that an index uses.
Tensor used_part(const Tensor& src, const Tensor& index) {
  Tensor part = src;
  for (int64_t d = 0; d < src.dim() && src.dim() == index.dim(); ++d) {
    part = part.sizes()[size_t(d)] == index.sizes()[size_t(d)]
               ? part
               : narrow(part, d, 0, index.sizes()[size_t(d)]);
  }
  return part;
}

Tensor source_of(const char* op, const Tensor& x, const Tensor& index, const Tensor& src,
                 int64_t d) {
  check_covers(op, "self", x, index, d);
  check(src.dtype() == x.dtype(), Code::dtype, op,
        "(): Expected self.dtype to be equal to src.dtype, got ", name_of(x.dtype()), " and ",
        name_of(src.dtype()));
  check_covers(op, "src", src, index, -1);
  return used_part(src, index);
}

// A result of its own is let go where an index is out of range.
Kept kept_by(Into into) { return into.destination ? Kept::yes : Kept::no; }

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index, Into into) {
  const int64_t d = wrap_dim(dim, x.dim());
  // torch looks at the dtype of an index only where there is one.
  const Tensor at =
      index.numel() ? index_operand(op::gather, x, index) : to_dtype(index, Dtype::i64);
  check_covers(op::gather, "input", x, at, d);
  check_no_overlap(op::gather.to(into), {&x, &index});
  Call c{op::gather.to(into), {x}};
  Tensor y = c.output(at.sizes());
  run_gather(op::gather, y, x, d, at);
  return c.track(std::move(y), GatherBackward{c.save(at), d, Dims(x.sizes())});
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Into into) {
  const int64_t d = wrap_dim(dim, x.dim());
  const Tensor at = index_operand(op::scatter, x, index);
  const bool number = src.is_wrapped_number() || (src.dim() == 0 && at.dim() != 0);
  if (number) check_covers(op::scatter, "self", x, at, d);
  check_fits(src, x.dtype());
  const Tensor from =
      number ? to(src, x.device(), x.dtype()) : source_of(op::scatter, x, at, src, d);
  Call c{op::scatter.to(into), {x, at, from}, Devices::exact};
  Tensor y = c.changeable();
  run_scatter(op::scatter, kIndexSet, y, d, at, from, kept_by(into));
  return c.track(std::move(y), ScatterBackward{c.save(at), d, number});
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                   Into into) {
  const int64_t d = wrap_dim(dim, x.dim());
  const Call cast{op::scatter_add.to(into), {x, index, src}, Devices::exact};
  const Tensor at = index_operand(op::scatter_add, cast[0], index);
  const Tensor from = source_of(op::scatter_add, cast[0], at, cast[2], d);
  Call c{op::scatter_add.to(into), {cast[0], at, from}, Devices::exact};
  Tensor y = c.changeable();
  run_scatter(op::scatter_add, kIndexAdd, y, d, at, from, kept_by(into));
  return c.track(std::move(y), ScatterAddBackward{c.save(at), d});
}

Tensor take(const Tensor& x, const Tensor& index, Into into) {
  check_index(op::take, x, index);
  check_no_overlap(op::take.to(into), {&x, &index});
  return read_lists(ravel(x), {to_dtype(index, Dtype::i64)});
}

Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim, Into) {
  check(indices.dtype() == Dtype::i64, Code::dtype,
        "torch.take_along_dim(): dtype of indices should be Long but got ",
        scalar_name(indices.dtype()));
  const Call same_device{op::take_along_dim, {x, indices}, Devices::exact};
  if (!dim) return gather(ravel(x), 0, ravel(indices));
  check(x.dim() == indices.dim(), Code::shape,
        "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
        "got ",
        x.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  const size_t d = size_t(wrap_dim(*dim, x.dim()));
  if (x.dim() == 0) return gather(x, 0, indices);
  Dims other(indices.sizes());
  other[d] = x.sizes()[d];
  Dims shape = broadcast_shapes(x.sizes(), other);
  const Tensor wide = expand(x, shape);
  shape[d] = indices.sizes()[d];
  const Tensor from_end = add(indices, wrapped_number(x.sizes()[d]));
  const Tensor at = where(lt(indices, wrapped_number(int64_t{0})), from_end, indices);
  return gather(wide, int64_t(d), expand(at, shape));
}

}  // namespace flambeau::ops
