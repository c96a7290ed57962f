// Different values: in an order that puts equals together, those that differ from the one before.
// Slices are ordered by stable sorts from their last element to their first.
#include "base/error.h"
#include "ops/formula.h"
#include "ops/ops.h"

namespace flambeau::ops {

namespace {

Tensor positions(int64_t n, Device device) {
  return arange(num(int64_t{0}), num(n), num(int64_t{1}), Dtype::i64, device);
}

// [n] bool: whether row i of [n, m] differs from the one before; the first one does.
Tensor starts(const Tensor& rows) {
  const int64_t n = rows.size(0);
  if (n == 0) return zeros(Dims{0}, Dtype::boolean, rows.device());
  Tensor differ = ne(narrow(rows, 0, 1, n - 1), narrow(rows, 0, 0, n - 1));
  differ = rows.size(1) == 1 ? reshape(differ, Dims{n - 1}) : any(differ, Dims{1}, false);
  const Tensor parts[] = {ones(Dims{1}, Dtype::boolean, rows.device()), differ};
  return cat(parts, 0);
}

// Positions that put the rows of [n, m] in ascending order.
Tensor row_order(const Tensor& rows) {
  Tensor order = positions(rows.size(0), rows.device());
  for (int64_t column = rows.size(1); column-- > 0;) {
    const Tensor keys = index_select(select(rows, 1, column), 0, order);
    order = index_select(order, 0, argsort(keys));
  }
  return order;
}

// `rows` [n, m] in the order `order` (undefined: as they are); `shape`: of the inverse.
std::vector<Tensor> different(const Tensor& rows, const Tensor& order, DimsView shape,
                              bool return_inverse, bool return_counts, Tensor& first) {
  const int64_t n = rows.size(0);
  const Tensor in_order = order ? index_select(rows, 0, order) : rows;
  const Tensor start = starts(in_order);
  first = select(nonzero(start), 1, 0);
  std::vector<Tensor> rest;
  if (return_inverse) {
    const Tensor group = sub(cumsum(start, 0), num(int64_t{1}));
    rest.push_back(
        reshape(order ? scatter(zeros(Dims{n}, Dtype::i64, rows.device()), 0, order, group) : group,
                shape));
  }
  if (return_counts) {
    const Tensor parts[] = {
        narrow(first, 0, first.numel() ? 1 : 0, std::max<int64_t>(first.numel() - 1, 0)),
        first.numel() ? full(Dims{1}, num(n), Dtype::i64, rows.device())
                      : zeros(Dims{0}, Dtype::i64, rows.device())};
    rest.push_back(sub(cat(parts, 0), first));
  }
  return rest;
}

// As in torch the elements are recorded and differentiating them fails: without a record a sum with
// them in it would lose their part of the gradient silently.
struct UniqueBackward {
  static constexpr auto name = "UniqueBackward0";
  const char* op;
  Tensors operator()(const Tensor&) const {
    fail(Code::unsupported, "the derivative for '", op, "' is not implemented.");
  }
};

std::vector<Tensor> unique_of(const char* op, const Tensor& x, std::optional<int64_t> dim,
                              bool return_inverse, bool return_counts, bool sorted) {
  const GradMode off(false);
  const Tensor in = detach(x);
  if (!dim || x.dim() == 0) {
    if (dim) wrap_dim(*dim, x.dim());
    Tensor order, flat = ravel(in), first;
    if (sorted && (return_inverse || return_counts)) order = argsort(flat);
    if (sorted && !order) flat = std::get<0>(sort(flat));
    const Tensor rows = unsqueeze(flat, 1);
    std::vector<Tensor> y = different(rows, order, x.sizes(), return_inverse, return_counts, first);
    y.insert(y.begin(), index_select(flat, 0, order ? index_select(order, 0, first) : first));
    return y;
  }
  const int64_t d = wrap_dim(*dim, x.dim()), n = x.size(d);
  check(x.numel() > 0 || n == 0, Code::shape, op, "(): there are ", n, " slices along dim ", d,
        " without elements to compare: ", x);
  const Tensor slices = contiguous(transpose(in, 0, d));
  const Tensor rows = reshape(slices, Dims{n, n ? x.numel() / n : 1});
  Tensor first;
  const Tensor order = sorted && n ? row_order(rows) : Tensor();
  std::vector<Tensor> y = different(rows, order, Dims{n}, return_inverse, return_counts, first);
  const Tensor taken = order ? index_select(order, 0, first) : first;
  y.insert(y.begin(), index_select(in, d, taken));
  return y;
}

}  // namespace

std::vector<Tensor> unique(const Tensor& x, std::optional<int64_t> dim, bool return_inverse,
                           bool return_counts) {
  Call c{op::unique, {x}};
  std::vector<Tensor> y = unique_of(op::unique, x, dim, return_inverse, return_counts, true);
  y[0] = c.track(y[0], UniqueBackward{op::unique});
  return y;
}

std::vector<Tensor> unique_consecutive(const Tensor& x, std::optional<int64_t> dim,
                                       bool return_inverse, bool return_counts) {
  Call c{op::unique_consecutive, {x}};
  std::vector<Tensor> y =
      unique_of(op::unique_consecutive, x, dim, return_inverse, return_counts, false);
  y[0] = c.track(y[0], UniqueBackward{op::unique_consecutive});
  return y;
}

}  // namespace flambeau::ops
