// Reading and writing where lists of indices point: the recorded core under every form of advanced
// indexing.
#include "base/checked.h"
#include "ops/formula.h"
#include "ops/index/indices.h"

namespace flambeau::ops {

namespace {

struct IndexBackward {
  SavedLists lists;
  Dims sizes;
  static constexpr auto name = "IndexBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {write_lists(zeros(sizes, dy.dtype(), dy.device()), lists.get(), dy, true)};
  }
};

struct IndexPutBackward {
  SavedLists lists;
  bool accumulate;
  static constexpr auto name = "IndexPutBackward0";
  Tensors operator()(const Tensor& dy) const {
    const IndexTensors at = lists.get();
    Tensor dx =
        accumulate || !wanted(0) ? dy : write_lists(clone(dy), at, wrapped_number(0.0), false);
    return {wanted(0) ? dx : Tensor(), wanted(1) ? read_lists(dy, at) : Tensor()};
  }
};

}  // namespace

void check_index(const Op& op, const Tensor& x, const Tensor& index) {
  check(index.dtype() == Dtype::i64 || index.dtype() == Dtype::i32, Code::dtype, op,
        "(): Expected dtype int32/int64 for index, got ", index);
  const Call same_device{op, {x, index}, Devices::exact};
}

Tensor index_operand(const Op& op, const Tensor& x, const Tensor& index) {
  check_index(op, x, index);
  return to_dtype(index, Dtype::i64);
}

Tensor read_lists(const Tensor& x, const IndexTensors& lists) {
  Call c{op::index, {x}};
  Tensor y = flambeau::empty(indexed_shape(op::index, x, lists), x.dtype(), x.device());
  run_index_read(op::index, y, x, lists);
  return c.track(std::move(y), IndexBackward{{c, lists}, Dims(x.sizes())});
}

Tensor write_lists(const Tensor& x, const IndexTensors& lists, const Tensor& values,
                   bool accumulate) {
  check_writable(x, kIndexPutOp, Destination::inplace);
  const Call same_device{kIndexPutOp, {x, values}};
  Tensor source = to(values, x.device(), x.dtype());
  if (source.storage() == x.storage()) source = clone(source);
  Destination to(x, kIndexPutOp, Destination::inplace);
  Call c{kIndexPutOp.to(to), {x, source}};
  run_index_write("index_put", accumulate ? kIndexAdd : kIndexSet, c.write_target(), lists, source);
  return c.track(x, IndexPutBackward{{c, lists}, accumulate});
}

void check_unshared(const Tensor& target, TensorsView indices, const Tensor& values) {
  Destination to(target, kIndexPutOp, Destination::inplace);
  const Form form = kIndexPutOp.to(to);
  bool masked = false;
  for (const Tensor& at : indices) {
    if (at.dtype() == Dtype::boolean) {
      masked = true;
    } else {
      check_no_overlap(form, {&at});
    }
  }
  if (!masked || values.numel() != 1) check_no_overlap(form, {&values});
}

std::vector<Tensor> coordinates(const Tensor& positions, DimsView sizes) {
  const Dims strides = contiguous_strides(sizes);
  std::vector<Tensor> out;
  Tensor outer;  // the row-major position in the dimensions before d
  for (size_t d = 0; d < sizes.size(); ++d) {
    Tensor upto = positions;
    if (strides[d] != 1) upto = floor_divide(upto, wrapped_number(strides[d]));
    out.push_back(d > 0 ? sub(upto, outer, double(sizes[d])) : upto);
    outer = std::move(upto);
  }
  return out;
}

std::vector<Tensor> unravel_index(const Tensor& indices, DimsView shape) {
  check(!is_floating(indices.dtype()) && indices.dtype() != Dtype::boolean, Code::dtype,
        "unravel_index(): expected 'indices' to be integer dtype, but got ",
        name_of(indices.dtype()));
  const GradMode off(false);
  const Tensor places = to_dtype(indices, Dtype::i64);
  int64_t elements = 1;
  for (const int64_t size : shape) {
    check(size >= 0, Code::invalid_argument,
          "unravel_index(): 'shape' cannot have negative values, but got ", ShapeText{shape});
    elements = checked_mul(elements, size, "unravel_index(): 'shape'");
  }
  check(
      elements > 0 || indices.numel() == 0, Code::invalid_argument,
      "unravel_index(): 'shape' cannot have zero dimensions when 'indices' is non-empty, but got ",
      ShapeText{shape});
  if (elements == 0) return std::vector<Tensor>(shape.size(), places);
  std::vector<Tensor> at = coordinates(places, shape);
  if (!at.empty()) at[0] = remainder(at[0], num(shape[0]));
  return at;
}

std::vector<Tensor> mask_coordinates(const char* op, const Tensor& mask) {
  const GradMode off(false);
  return coordinates(true_positions(op, contiguous(mask)), mask.sizes());
}

}  // namespace flambeau::ops
