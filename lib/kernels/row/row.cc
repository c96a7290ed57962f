// The planner of row kernels: brings every operand into rows that are dense inside and evenly
// spaced.
#include "kernels/row/row.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/map/map.h"
#include "kernels/report/report.h"
#include "kernels/row/row_parts.h"
#include "kernels/tickets.h"

namespace flambeau {

namespace {

Tensor moved_last(const Tensor& t, int64_t dim) {
  if (t.dim() == 0) return t;
  const size_t d = size_t(wrap_dim(dim, t.dim()));
  Dims sizes(t.sizes()), strides(t.strides());
  std::rotate(sizes.begin() + d, sizes.begin() + d + 1, sizes.end());
  std::rotate(strides.begin() + d, strides.begin() + d + 1, strides.end());
  return alias(t, sizes, strides, t.offset());
}

// Elements from row to row, or -1 where rows are not evenly spaced or not dense.
int64_t row_stride(const Tensor& t) {
  if (t.dim() == 0) return 1;
  const size_t last = size_t(t.dim()) - 1;
  if (t.sizes()[last] != 1 && t.strides()[last] != 1) return -1;
  int64_t stride = -1, expected = -1;
  for (size_t d = last; d-- > 0;) {
    if (t.sizes()[d] == 1) continue;
    if (stride < 0) {
      stride = t.strides()[d];
    } else if (t.strides()[d] != expected) {
      return -1;
    }
    if (stride < 0) return -1;
    expected = t.strides()[d] * t.sizes()[d];
  }
  return stride < 0 ? t.sizes()[last] : stride;
}

// Elements from one index of dims [first, end) to the next, or -1 where they are not even.
int64_t even_stride(const Tensor& t, int64_t first, int64_t end) {
  int64_t stride = -1, expected = 0;
  for (int64_t d = end; d-- > first;) {
    const int64_t size = t.sizes()[size_t(d)], own = t.strides()[size_t(d)];
    if (size == 1) continue;
    if (stride >= 0 ? own != expected : own < 0) return -1;
    if (stride < 0) stride = own;
    expected = own * size;
  }
  return stride < 0 ? 0 : stride;
}

constexpr int64_t kShortRow = 32, kFewRows = 16;

// Whether the host takes rows side by side; and how they lie.
bool side_by_side(RowArgs& a, int64_t dim, std::initializer_list<RowOperand> operands,
                  const Tensor& model) {
  if (model.dim() == 0 || a.rows < kFewRows || a.n > kColumnTerms) return false;
  const int64_t d = wrap_dim(dim, model.dim());
  int64_t inner = 1;
  for (int64_t i = d + 1; i < model.dim(); ++i) inner *= model.size(i);
  a.inner = inner == 1 ? a.rows : inner;
  bool dense = a.n > kShortRow;
  int i = -1;
  for (const RowOperand& o : operands) {
    ++i;
    if (o.role != RowRole::row || !o.tensor->defined()) continue;
    const Tensor& t = *o.tensor;
    const int64_t bytes = int64_t(t.element_size()), outer = even_stride(t, 0, d),
                  within = even_stride(t, d + 1, t.dim()), step = t.strides()[size_t(d)];
    if (outer < 0 || within < 0 || step < 0) return false;
    a.far[i] = outer * bytes;
    a.stride[i] = (inner == 1 ? outer : within) * bytes;
    a.step[i] = step * bytes;
    dense &= step == 1 && (inner == 1 || within * inner == outer || a.inner == a.rows);
  }
  return !dense;
}

// An operand as rows, or a copy where they are not dense and even; elements from row to row.
Tensor operand_rows(const Tensor& t, int64_t dim, bool output, int64_t& stride) {
  const Tensor rows = moved_last(t, dim);
  stride = row_stride(rows);
  if (stride >= 0) return rows;
  const Tensor dense = empty(rows.sizes(), t.dtype(), t.device());
  if (!output) run_cast(dense, rows);
  stride = dense.dim() ? dense.size(-1) : 1;
  return dense;
}

// The arguments of a launch and the tensors behind them, copies where an operand is not in rows.
struct Launch {
  RowArgs a{};
  Tensor used[kRowOperands], partial;
  Access accesses[kRowOperands + 1];
};

void count_rows(RowArgs& a, const Tensor& model, int64_t dim) {
  a.n = model.dim() ? model.size(dim) : 1;
  if (a.n) {
    a.rows = model.numel() / a.n;
    return;
  }
  a.rows = 1;
  for (int64_t d = 0; d < model.dim(); ++d)
    a.rows *= d == wrap_dim(dim, model.dim()) ? 1 : model.size(d);
}

void add_operand(Launch& l, const RowOperand& o, std::initializer_list<RowOperand> operands,
                 int64_t dim) {
  RowArgs& a = l.a;
  const int i = a.operands++;
  const Tensor& t = *o.tensor;
  a.role[i] = o.role;
  a.output[i] = o.output;
  a.of[i] = -1;
  for (const RowOperand& other : operands)
    if (o.of == other.tensor) a.of[i] = int32_t(&other - operands.begin());
  Tensor& used = l.used[i];
  if (!t.defined()) {
    l.accesses[i] = access_of(used, o.output);
    return;
  }
  a.bytes[i] = int32_t(t.element_size());
  if (o.role == RowRole::row && a.inner) {
    used = t;
  } else if (a.role[i] == RowRole::row) {
    int64_t stride;
    used = operand_rows(t, dim, o.output, stride);
    a.stride[i] = stride * int64_t(t.element_size());
  } else {
    used = t.is_contiguous() ? t : empty(t.sizes(), t.dtype(), t.device());
    if (!t.is_contiguous() && !o.output) run_cast(used, t);
    a.stride[i] = o.role == RowRole::each && t.numel() != 1 ? int64_t(t.element_size()) : 0;
  }
  a.data[i] = static_cast<char*>(used.data());
  l.accesses[i] = access_of(used, o.output);
}

// Where GPUs leave sums of parts of the rows, or of blocks: two for each, and what they have lost.
void add_partial(Launch& l, const Tensor& model) {
  RowArgs& a = l.a;
  int64_t totals = 0, joined = 0;
  for (int k = 0; k < a.operands; ++k) {
    totals += a.role[k] == RowRole::total && a.data[k];
    joined += a.role[k] == RowRole::joined && a.data[k];
  }
  const int bytes = int(model.element_size());
  a.parts = row_sums_parts(a.rows, a.n, bytes);
  a.held_parts = held_sums_parts(a.rows, a.n, bytes);
  a.tickets = totals || joined ? ticket_stream(model.device()) : -1;
  const int64_t parts = std::max(a.parts, a.held_parts);
  int64_t sums = totals && parts > 1 ? totals * parts * a.n : 0;
  if (joined) sums = 4 * std::clamp<int64_t>(a.rows, 1, kJoinedBlocks);
  if (sums) {
    const Dtype wide = model.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    l.partial = empty(Dims{sums}, wide, model.device());
    a.partial = static_cast<char*>(l.partial.data());
  }
  l.accesses[a.operands] = access_of(l.partial, true);
}

void write_back(const Launch& l, std::initializer_list<RowOperand> operands, int64_t dim) {
  const Tensor* from = l.used;
  for (const RowOperand& o : operands) {
    const Tensor& own = *from++;
    if (o.output && o.tensor->defined() && own.data() != o.tensor->data())
      run_cast(o.role == RowRole::row ? moved_last(*o.tensor, dim) : *o.tensor, own);
  }
}

// By the code that was found: that for GPUs may run on the cpu's tensors, too.
bool runs_on_host(const Kernel& kernel, KernelFn fn, Dtype dtype) {
  return fn != kernel.cells[int(KernelColumn::cuda)][int(dtype)] &&
         fn != kernel.cells[int(KernelColumn::emu)][int(dtype)];
}

}  // namespace

bool joins_rows(Device device) { return kernel_column(device) != KernelColumn::host; }

void run_row(const char* op, const Kernel& kernel, Dtype dtype, int64_t dim,
             std::initializer_list<RowOperand> operands, std::initializer_list<double> params) {
  const RowOperand* main = std::find_if(operands.begin(), operands.end(), [](const RowOperand& o) {
    return o.role == RowRole::row && o.tensor->defined();
  });
  const Tensor& model = *main->tensor;
  const Device device = model.device();
  const KernelFn fn = kernel.find(op, device, dtype);
  if (!std::any_of(operands.begin(), operands.end(), [](const RowOperand& o) {
        return o.output && o.tensor->defined() && o.tensor->numel() > 0;
      })) {
    return;  // rows without elements are not walked either: a shape may have 2^40 of them
  }
  Launch l;
  const bool host = runs_on_host(kernel, fn, dtype);
  count_rows(l.a, model, dim);
  l.a.op = op;
  l.a.report = report_of(device);
  std::copy(params.begin(), params.end(), l.a.params);
  if (!host || !side_by_side(l.a, dim, operands, model)) l.a.inner = 0;
  for (const RowOperand& o : operands) add_operand(l, o, operands, dim);
  if (!host) add_partial(l, model);
  launch_kernel(op, fn, device, l.a, std::span(l.accesses, size_t(l.a.operands) + !host));
  write_back(l, operands, dim);
}

}  // namespace flambeau
