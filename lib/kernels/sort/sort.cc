// The planner of sorts and searches: brings the dimension to the end, dense, and back.
#include "kernels/sort/sort.h"

#include "base/error.h"
#include "kernels/map/map.h"
#include "kernels/report/report.h"
#include "kernels/scratch_bytes.h"

namespace flambeau {

constinit Kernel kSort{"sort"}, kSearch{"searchsorted", Dtype::i64};

namespace {

// `t` with dimension d last.
Tensor with_last(const Tensor& t, size_t d) {
  if (t.dim() == 0) return t;
  Dims sizes(t.sizes()), strides(t.strides());
  std::rotate(sizes.begin() + long(d), sizes.begin() + long(d) + 1, sizes.end());
  std::rotate(strides.begin() + long(d), strides.begin() + long(d) + 1, strides.end());
  return alias(t, sizes, strides, t.offset());
}

Tensor dense_input(const Tensor& t) {
  if (t.is_contiguous()) return t;
  Tensor dense = empty(t.sizes(), t.dtype(), t.device());
  run_cast(dense, t);
  return dense;
}

Tensor dense_output(const Tensor& t) {
  return !t.defined() || t.is_contiguous() ? t : empty(t.sizes(), t.dtype(), t.device());
}

}  // namespace

void run_sort(const char* op, const Tensor& values, const Tensor& at, const Tensor& input,
              int64_t dim, const SortRange& range) {
  const KernelFn fn = kSort.find(op, input.device(), input.dtype());
  const size_t d = size_t(wrap_dim(dim, input.dim()));
  const Tensor in = dense_input(with_last(input, d));
  const Tensor last[] = {values.defined() ? with_last(values, d) : values,
                         at.defined() ? with_last(at, d) : at};
  const Tensor out[] = {dense_output(last[0]), dense_output(last[1])};
  SortArgs a{};
  a.n = in.dim() ? in.sizes().back() : 1;
  a.lines = a.n ? in.numel() / a.n : 0;
  a.first = range.first;
  a.count = range.count;
  if (a.lines == 0 || a.count == 0) return;
  check(a.n < int64_t{0xffffffff}, Code::unsupported, op, ": a dimension of ", a.n,
        " elements is too long to sort; at most 2^32 - 2 are supported");
  a.in = static_cast<const char*>(in.data());
  a.values = out[0].defined() ? static_cast<char*>(out[0].data()) : nullptr;
  a.at = out[1].defined() ? out[1].data_as<int64_t>() : nullptr;
  a.descending = range.descending;
  a.middle = range.middle;
  Tensor scratch;
  if (!input.device().is_cpu()) {
    const size_t bytes = scratch_bytes(fn, input.device(), a);
    if (bytes) scratch = empty(Dims{int64_t(bytes)}, Dtype::u8, input.device());
    a.scratch = bytes ? static_cast<char*>(scratch.data()) : nullptr;
  }
  launch_kernel(op, fn, input.device(), a,
                {writes(out[0]), writes(out[1]), reads(in), writes(scratch)});
  for (int i = 0; i < 2; ++i) {
    if (out[i].defined() && !out[i].is_same(last[i])) run_cast(last[i], out[i]);
  }
}

void run_search(const char* op, const Tensor& out, const Tensor& sequence, const Tensor& values,
                const Tensor& sorter, bool right) {
  const KernelFn fn = kSearch.find(op, values.device(), values.dtype());
  if (values.numel() == 0) return;
  const Tensor rows = dense_input(sequence), in = dense_input(values), dense = dense_output(out);
  const Tensor order = sorter.defined() ? dense_input(sorter) : sorter;
  SearchArgs a{};
  a.numel = in.numel();
  a.n = rows.sizes().back();
  a.values_per_row = rows.dim() == 1 ? 0 : in.sizes().back();
  a.sequence = static_cast<const char*>(rows.data());
  a.values = static_cast<const char*>(in.data());
  a.sorter = order.defined() ? order.data_as<int64_t>() : nullptr;
  a.out = static_cast<char*>(dense.data());
  a.op = op;
  a.report = a.sorter ? report_of(values.device()) : nullptr;
  a.right = right;
  a.narrow = dense.dtype() == Dtype::i32;
  launch_kernel(op, fn, values.device(), a, {writes(dense), reads(rows), reads(in), reads(order)});
  if (!dense.is_same(out)) run_cast(out, dense);
}

}  // namespace flambeau
