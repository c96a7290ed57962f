// Turned, combined and cut tensors, made of views and joins.
#include <algorithm>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/formula.h"
#include "ops/ops.h"

namespace flambeau::ops {

namespace {

void check_devices(const Op& op, TensorsView tensors) {
  const std::vector<Operand> operands(tensors.begin(), tensors.end());
  const Call c{op, std::span(operands)};
}

std::vector<Tensor> cut_at(const Tensor& x, DimsView places, int64_t dim) {
  const int64_t d = wrap_dim(dim, x.dim());
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t place : places) {
    parts.push_back(slice(x, d, start, place));
    start = place;
  }
  parts.push_back(slice(x, d, start));
  return parts;
}

std::vector<Tensor> cut_even(const char* op, const Tensor& x, int64_t sections, int64_t dim) {
  check(sections > 0 && x.size(dim) % sections == 0, Code::invalid_argument, "torch.", op,
        " attempted to split along dimension ", dim, ", but the size of the dimension ",
        x.size(dim), " is not divisible by the split_size ", sections, "!");
  return tensor_split(x, sections, dim);
}

void check_splits(const char* op, const Tensor& x, int64_t dims) {
  check(x.dim() >= dims, Code::shape, "torch.", op, " requires a tensor with at least ", dims,
        " dimension", dims > 1 ? "s" : "", ", but got a tensor with ", x.dim(), " dimensions!");
}

int64_t second_dim(const char* op, const Tensor& x) {
  check_splits(op, x, 1);
  return x.dim() == 1 ? 0 : 1;
}

}  // namespace

Tensor rot90(const Tensor& x, int64_t k, DimsView dims) {
  const Dims plane = dims.empty() ? Dims{0, 1} : Dims(dims);
  check(plane.size() == 2, Code::invalid_argument,
        "expected total rotation dims == 2, but got dims = ", plane.size());
  check(x.dim() >= 2, Code::shape, "expected total dims >= 2, but got total dims = ", x.dim());
  const int64_t a = wrap_dim(plane[0], x.dim()), b = wrap_dim(plane[1], x.dim());
  check(a != b, Code::invalid_argument,
        "expected rotation dims to be different, but got dim0 = ", plane[0],
        " and dim1 = ", plane[1]);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(x, Dims{b}), a, b);
    case 2:
      return flip(x, Dims{a, b});
    case 3:
      return transpose(flip(x, Dims{a}), a, b);
    default:
      return clone(x);
  }
}

Tensor cartesian_prod(TensorsView tensors) {
  check(!tensors.empty(), Code::invalid_argument, "cartesian_prod expects a non-empty list");
  check_devices(op::cartesian_prod, tensors);
  for (const Tensor& t : tensors) {
    check(t.dim() == 1, Code::shape, "Expect a 1D vector, but got shape ", ShapeText{t.sizes()});
    check(t.dtype() == tensors[0].dtype(), Code::dtype,
          "meshgrid expects all tensors to have the same dtype");
  }
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& t : meshgrid(tensors)) columns.push_back(ravel(t));
  return stack(columns, 1);
}

Tensor combinations(const Tensor& x, int64_t r, bool with_replacement) {
  check(x.dim() == 1, Code::shape, "Expect a 1D vector, but got shape ", ShapeText{x.sizes()});
  check(r >= 0, Code::invalid_argument, "Expect a non-negative number, but got ", r);
  check_count("combinations", "r", r, kMostDims);  // one dimension of a grid for each
  if (r == 0) return flambeau::empty(Dims{0}, x.dtype(), x.device());
  const int64_t n = x.size(0);
  const Tensor place = arange(num(int64_t{0}), num(n), num(int64_t{1}), Dtype::i64, x.device());
  const std::vector<Tensor> axes(size_t(r), place);
  const std::vector<Tensor> grid = meshgrid(axes);
  Tensor taken = ones(grid[0].sizes(), Dtype::boolean, x.device());
  for (size_t i = 0; i + 1 < grid.size(); ++i) {
    taken =
        logical_and(taken, with_replacement ? le(grid[i], grid[i + 1]) : lt(grid[i], grid[i + 1]));
  }
  std::vector<Tensor> columns;
  for (const Tensor& g : grid) columns.push_back(index_select(x, 0, masked_select(g, taken)));
  return stack(columns, 1);
}

Tensor column_stack(TensorsView tensors, Into) {
  check_devices(op::column_stack, tensors);
  std::vector<Tensor> columns;
  for (const Tensor& t : tensors) {
    columns.push_back(t.dim() <= 1 ? reshape(t, Dims{t.numel(), 1}) : t);
  }
  return hstack(columns);
}

Tensor block_diag(TensorsView tensors) {
  check_devices(op::block_diag, tensors);
  std::vector<Tensor> blocks, rows;
  int64_t width = 0, left = 0;
  for (const Tensor& t : tensors) {
    check(t.dim() <= 2, Code::shape,
          "torch.block_diag: Input tensors must have 2 or fewer "
          "dimensions. Got ",
          t);
    blocks.push_back(atleast_2d(t));
    width += blocks.back().size(1);
  }
  for (const Tensor& b : blocks) {
    const int64_t right = width - left - b.size(1);
    const Tensor parts[] = {zeros(Dims{b.size(0), left}, b.dtype(), b.device()), b,
                            zeros(Dims{b.size(0), right}, b.dtype(), b.device())};
    rows.push_back(cat(parts, 1));
    left += b.size(1);
  }
  return rows.empty() ? zeros(Dims{1, 0}) : cat(rows, 0);
}

std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim) {
  check(x.dim() > 0, Code::shape,
        "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  check(sections > 0, Code::invalid_argument, "number of sections must be larger than 0, got ",
        sections);
  check_count("tensor_split", "sections", sections);
  const int64_t n = x.size(dim);
  Dims places;
  for (int64_t i = 1; i < sections; ++i) {
    places.push_back(i * (n / sections) + std::min(i, n % sections));
  }
  return cut_at(x, places, dim);
}

std::vector<Tensor> tensor_split_at(const Tensor& x, DimsView indices, int64_t dim) {
  check(x.dim() > 0, Code::shape,
        "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  return cut_at(x, indices, dim);
}

std::vector<Tensor> hsplit(const Tensor& x, int64_t sections) {
  return cut_even(op::hsplit, x, sections, second_dim(op::hsplit, x));
}
std::vector<Tensor> hsplit_at(const Tensor& x, DimsView indices) {
  return cut_at(x, indices, second_dim(op::hsplit, x));
}

std::vector<Tensor> vsplit(const Tensor& x, int64_t sections) {
  check_splits(op::vsplit, x, 2);
  return cut_even(op::vsplit, x, sections, 0);
}
std::vector<Tensor> vsplit_at(const Tensor& x, DimsView indices) {
  check_splits(op::vsplit, x, 2);
  return cut_at(x, indices, 0);
}

std::vector<Tensor> dsplit(const Tensor& x, int64_t sections) {
  check_splits(op::dsplit, x, 3);
  return cut_even(op::dsplit, x, sections, 2);
}
std::vector<Tensor> dsplit_at(const Tensor& x, DimsView indices) {
  check_splits(op::dsplit, x, 3);
  return cut_at(x, indices, 2);
}

}  // namespace flambeau::ops
