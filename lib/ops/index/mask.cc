// Where something is true: positions, and elements read or written there. The length of a result
// depends on values,
// so these wait for the device.
#include "base/error.h"
#include "ops/call.h"
#include "ops/index/indices.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

struct MaskedScatterBackward {
  Saved mask;
  Dims source_sizes;
  static constexpr auto name = "MaskedScatterBackward0";
  Tensors operator()(const Tensor& dy) const {
    Tensor ds;
    if (wanted(2)) {
      const Tensor used = masked_select(dy, mask);
      const int64_t rest = numel_of(source_sizes) - used.numel();
      const Tensor parts[] = {used, zeros(Dims{rest}, dy.dtype(), dy.device())};
      ds = reshape(cat(parts, 0), source_sizes);
    }
    return {wanted(0) ? masked_fill(dy, mask, wrapped_number(0.0)) : Tensor(), Tensor(), ds};
  }
};

void check_mask(const char* op, const Tensor& mask) {
  check(mask.dtype() == Dtype::boolean, Code::dtype, op, ": expected BoolTensor for mask, got ",
        mask);
}

Tensor positions_of(const Op& op, const Tensor& x, const Tensor& mask) {
  const Call same_device{op, {x, mask}, Devices::exact};
  const GradMode off(false);
  return true_positions(op, contiguous(mask));
}

}  // namespace

Tensor masked_select(const Tensor& x, const Tensor& mask, Into into) {
  check_mask(op::masked_select, mask);
  check_no_overlap(op::masked_select.to(into), {&x, &mask});
  const Dims shape = broadcast_shapes(x.sizes(), mask.sizes());
  const Tensor at = positions_of(op::masked_select, x, expand(mask, shape));
  return index_select(ravel(expand(x, shape)), 0, at);
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source, Into into) {
  check_mask(op::masked_scatter, mask);
  check(x.dtype() == source.dtype(), Code::dtype,
        "masked_scatter: expected self and source to have same dtypes "
        "but got ",
        name_of(x.dtype()), " and ", name_of(source.dtype()));
  const Dims sizes = broadcast_shapes(x.sizes(), mask.sizes());
  const bool grows = x.dim() != int64_t(sizes.size()) ||
                     !std::equal(sizes.begin(), sizes.end(), x.sizes().begin());
  const Tensor whole = grows ? expand(x, sizes) : x;
  const Tensor wide = expand(mask, sizes);
  const Tensor at = positions_of(op::masked_scatter, whole, wide);
  check(at.numel() <= source.numel(), Code::shape,
        "Number of elements of source < number of ones in mask: ", source.numel(), " and ",
        at.numel());
  const Tensor given = apart(source, whole), where = apart(wide, whole);
  Call c{op::masked_scatter.to(into), {whole, where, given}, Devices::exact};
  Tensor y = c.changeable();
  IndexTensors lists;
  const GradMode off(false);
  for (Tensor& t : coordinates(at, sizes)) lists.push_back(std::move(t));
  const Tensor used = narrow(ravel(given), 0, 0, at.numel());
  if (lists.empty()) {
    if (at.numel()) run_cast(y, reshape(used, Dims{}));
  } else {
    run_index_write(op::masked_scatter, kIndexSet, y, lists, used);
  }
  return c.track(std::move(y), MaskedScatterBackward{c.save(where), Dims(source.sizes())});
}

Tensor nonzero(const Tensor& x) {
  const GradMode off(false);
  if (is_complex(x.dtype())) return nonzero(ne(x, wrapped_number(int64_t{0})));
  if (x.dim() == 0) {
    const Tensor truth = ne(x, wrapped_number(int64_t{0}));
    return flambeau::empty(Dims{true_positions(op::nonzero, truth).numel(), 0}, Dtype::i64,
                           x.device());
  }
  // Coordinate after coordinate in memory, as torch's.
  return transpose(stack(mask_coordinates(op::nonzero, x), 0), 0, 1);
}

std::vector<Tensor> nonzero_tuple(const Tensor& condition) {
  const GradMode off(false);
  const Tensor x = atleast_1d(condition);
  const bool pairs = is_complex(x.dtype());
  return mask_coordinates(op::nonzero, pairs ? ne(x, wrapped_number(int64_t{0})) : x);
}

Tensor one_hot(const Tensor& x, int64_t num_classes) {
  check(x.dtype() == Dtype::i64, Code::dtype,
        "one_hot is only applicable to index tensor of type LongTensor, got ", x);
  int64_t most = -1;
  for (int64_t v : read_integers(x)) {
    check(v >= 0, Code::invalid_argument, "Class values must be non-negative, got ", v);
    most = std::max(most, v);
  }
  check(num_classes >= 0 || x.numel() > 0, Code::invalid_argument,
        "Can not infer total number of classes from empty tensor: give num_classes");
  check(num_classes <= 0 || most < num_classes, Code::invalid_argument,
        "Class values must be smaller than num_classes: the greatest is ", most, ", num_classes ",
        num_classes);
  check(num_classes > 0 || num_classes == -1, Code::invalid_argument,
        "num_classes must be positive to tell classes apart, or -1 for one more than the greatest "
        "value, got ",
        num_classes);
  Dims sizes(x.sizes());
  sizes.push_back(num_classes < 0 ? most + 1 : num_classes);
  const Tensor hot = zeros(sizes, Dtype::i64, x.device());
  return scatter_(hot, -1, unsqueeze(x, -1), wrapped_number(int64_t{1}));
}

}  // namespace flambeau::ops
