// Slices of one dimension by an index vector: select, add, copy, fill, and the embedding table.
#include "base/error.h"
#include "graph/receiver.h"
#include "kernels/index/added_rows.h"
#include "ops/fits.h"
#include "ops/formula.h"
#include "ops/index/indices.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

struct IndexAddBackward {
  Saved index;
  size_t dim;
  double alpha;
  Dims source_sizes;
  static constexpr auto name = "IndexAddBackward0";
  Tensors operator()(const Tensor& dy) const {
    Tensor ds;
    if (wanted(2)) ds = reshape(index_select(dy, int64_t(dim), index), source_sizes);
    return {dy, Tensor(), ds && alpha != 1 ? mul(ds, wrapped_number(alpha)) : ds};
  }
};

struct IndexCopyBackward {
  Saved index;
  size_t dim;
  Dims source_sizes;
  static constexpr auto name = "IndexCopyBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? index_fill(dy, int64_t(dim), index, wrapped_number(0.0)) : Tensor(),
            Tensor(),
            wanted(2) ? reshape(index_select(dy, int64_t(dim), index), source_sizes) : Tensor()};
  }
};

struct IndexFillBackward {
  Saved index;
  size_t dim;
  static constexpr auto name = "IndexFillBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? index_fill(dy, int64_t(dim), index, wrapped_number(0.0)) : Tensor(),
            Tensor(), wanted(2) ? sum(mul(dy, filled(dy))) : Tensor()};
  }
  // 1 where the value went, once however often the index names a place.
  Tensor filled(const Tensor& dy) const {
    return index_fill(zeros(dy.sizes(), dy.dtype(), dy.device()), int64_t(dim), index,
                      wrapped_number(1.0));
  }
};

Tensor index_vector(const Op& op, const Tensor& x, const Tensor& index) {
  check(index.dim() <= 1, Code::shape, op,
        "(): Index is supposed to be a vector, but got dim: ", index.dim(), " with shape ",
        ShapeText{index.sizes()});
  const Tensor at = index_operand(op, x, index);
  return at.dim() ? at : reshape(at, Dims{1});
}

// A 0-d tensor is indexed as a vector of one.
Tensor line(const Tensor& t) { return t.dim() ? t : alias(t, Dims{1}, Dims{1}, t.offset()); }

IndexTensors list_at(size_t dim, const Tensor& index) {
  IndexTensors lists(dim + 1);
  lists[dim] = index;
  return lists;
}

Dims with_size(const Tensor& x, size_t dim, int64_t n) {
  Dims sizes(x.sizes());
  if (!sizes.empty()) sizes[dim] = n;
  return sizes;
}

void check_source(const char* op, const Tensor& x, size_t dim, const Tensor& index,
                  const Tensor& source) {
  check(source.dtype() == x.dtype(), Code::dtype, op, "(): self (", name_of(x.dtype()),
        ") and source (", name_of(source.dtype()), ") must have the same scalar type");
  const Dims want = with_size(x, dim, index.numel());
  const int64_t given = size_t(source.dim()) > dim ? source.sizes()[dim] : source.numel();
  check(given == index.numel(), Code::shape, op, "_(): Number of indices (", index.numel(),
        ") should be equal to source.size(dim): (", given, "), for dim: ", dim);
  check(source.numel() == numel_of(want) && (source.dim() <= 1 || want == Dims(source.sizes())),
        Code::shape,
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
        "self.shape = ",
        ShapeText{x.sizes()}, " source.shape = ", ShapeText{source.sizes()}, ": ", op, " expected ",
        ShapeText{want});
}

// In the source's dtype: an integer stays one.
Tensor times(double alpha, const Tensor& source) {
  if (alpha == 1) return source;
  const GradMode off(false);
  check_factor("alpha", alpha, source.dtype());
  const bool whole = !is_differentiable(source.dtype());
  const Tensor factor = whole ? num(int64_t(alpha)) : num(alpha);
  return to(mul(source, factor), source.device(), source.dtype());
}

// Zeros, and what is added to them, but for what would come to `skipped`.
Tensor added_to_zeros(DimsView sizes, size_t dim, const Tensor& index, const Tensor& source,
                      int64_t skipped = -1) {
  const RowSums sums{sizes, index, source, skipped};
  if (!modes.grad && dim == 0 && adds_rows(sums)) return added_rows(op::index_add, sums);
  const Tensor begun = zeros(sizes, source.dtype(), source.device());
  const Tensor whole = index_add_(begun, int64_t(dim), index, source, 1);
  if (skipped >= 0) zero_(select(whole, int64_t(dim), skipped));
  return whole;
}

struct IndexSelectBackward {
  Saved index;
  size_t dim;
  Dims sizes;
  static constexpr auto name = "IndexSelectBackward0";
  Tensors operator()(const Tensor& dy) const { return {added_to_zeros(sizes, dim, index, dy)}; }
};

struct EmbeddingBackward {
  Saved index;
  Dims sizes;
  std::optional<int64_t> padding;
  static constexpr auto name = "EmbeddingBackward0";
  int64_t skipped() const { return padding.value_or(-1); }
  Tensors operator()(const Tensor& dy) const {
    const Tensor rows = ravel(index);
    const bool broadcast = dy.dim() > index.unchecked().dim() + 1;  // and not summed up
    const Tensor source = broadcast ? dy : reshape(dy, Dims{rows.numel(), sizes[1]});
    return {Tensor(), added_to_zeros(sizes, 0, rows, source, skipped())};
  }
  bool adds_all(const Tensor& dy) const {
    return adds_rows({sizes, index.unchecked(), dy, skipped()});
  }
};

}  // namespace

}  // namespace flambeau::ops

namespace flambeau {

template <> class NodeOf<ops::EmbeddingBackward> final : public RowsNode {
 public:
  explicit NodeOf(ops::EmbeddingBackward&& f) : f_(std::move(f)) {}
  const char* name() const override { return ops::EmbeddingBackward::name; }
  Tensors apply(TensorsView dy) override {
    if (!f_) fail_freed(name());
    return (*f_)(dy[0]);
  }
  void release_saved() override { f_.reset(); }
  bool adds_all(const Tensor& dy) const override { return f_ && f_->adds_all(dy); }

 private:
  std::optional<ops::EmbeddingBackward> f_;
};

}  // namespace flambeau

namespace flambeau::ops {

namespace {

// What no kernel looks at, because there is nothing to read.
void check_places(const Tensor& x, size_t dim, const Tensor& at) {
  if (at.numel() == 0 || !at.device().is_cpu() || x.sizes().empty()) return;
  const GradMode off(false);
  const int64_t size = x.sizes()[dim];
  for (const Tensor& end : {min(at), max(at)}) {
    const int64_t place = read_integer(end);
    check(place >= 0 && place < size, Code::index,
          "index_select(): INDICES element is out of DATA bounds, id=", place, " axis_dim=", size);
  }
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index, Into into) {
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  const Tensor at = index_vector(op::index_select, x, index);
  check(x.dim() <= 1 || x.sizes()[d] > 0 || at.numel() == 0, Code::shape,
        "index_select(): self indexing axis dim should be positive, but dimension ", d, " of ", x,
        " is empty");
  check(x.dim() > 0 || at.numel() == 1, Code::shape,
        "index_select(): Index to scalar can have only 1 value, got ", at.numel(), " value(s)");
  if (x.numel() == 0) check_places(x, d, at);
  check_no_overlap(op::index_select.to(into), {&x, &index});
  Call c{op::index_select.to(into), {x}};
  Tensor y = c.output(with_size(x, d, at.numel()));
  run_index_read(op::index_select, line(y), line(x), list_at(d, at), FromEnd::no);
  return c.track(std::move(y), IndexSelectBackward{c.save(at), d, Dims(x.sizes())});
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                 double alpha, Into into) {
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  const Tensor at = index_vector(op::index_add, x, index);
  check_source(op::index_add, x, d, at, source);
  Call c{op::index_add.to(into), {x, at, source}, Devices::exact};
  const Tensor scaled = times(alpha, source);
  Tensor y = c.changeable();
  run_index_write(op::index_add, kIndexAdd, line(y), list_at(d, at), line(scaled), FromEnd::no);
  return c.track(std::move(y), IndexAddBackward{c.save(at), d, alpha, Dims(source.sizes())});
}

Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                  Into into) {
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  const Call cast{op::index_copy.to(into), {x, index, source}, Devices::exact};
  const Tensor at = index_vector(op::index_copy, cast[0], index);
  check_source(op::index_copy, cast[0], d, at, cast[2]);
  Call c{op::index_copy.to(into), {cast[0], at, cast[2]}, Devices::exact};
  Tensor y = c.changeable();
  run_index_write(op::index_copy, kIndexSet, line(y), list_at(d, at), line(c[2]), FromEnd::no);
  return c.track(std::move(y), IndexCopyBackward{c.save(at), d, Dims(source.sizes())});
}

Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value,
                  Into into) {
  check(value.dim() == 0, Code::shape,
        "index_fill_ only supports a 0-dimensional value tensor, but got tensor "
        "with ",
        value.dim(), " dimension(s).");
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  const Tensor at = index_vector(op::index_fill, x, index);
  check_fits(value, x.dtype());
  const Tensor v = apart(to(value, x.device(), x.dtype()), x);
  Call c{op::index_fill.to(into), {x, at, v}};
  Tensor y = c.changeable();
  run_index_write(op::index_fill, kIndexSet, line(y), list_at(d, at), v);
  return c.track(std::move(y), IndexFillBackward{c.save(at), d});
}

Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx) {
  check(weight.dim() == 2, Code::shape, "'weight' must be 2-D, got ", weight);
  const int64_t rows = weight.sizes()[0];
  if (padding_idx) {
    check(*padding_idx >= -rows && *padding_idx < rows, Code::invalid_argument,
          "Padding_idx must be within num_embeddings: ", *padding_idx, " for ", rows, " rows");
    if (*padding_idx < 0) padding_idx = *padding_idx + rows;
  }
  Call c{op::embedding, {input, weight}, Devices::exact};
  const Tensor at = index_operand(op::embedding, weight, input);
  IndexTensors lists(1);
  lists[0] = at;
  Tensor y = c.output(indexed_shape(op::embedding, weight, lists), weight.dtype());
  run_index_read(op::embedding, y, weight, lists, FromEnd::no);
  return c.track(std::move(y), EmbeddingBackward{c.save(at), Dims(weight.sizes()), padding_idx});
}

}  // namespace flambeau::ops
