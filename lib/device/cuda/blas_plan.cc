// From strides to column-major operands; see blas_plan.h. Strides along a dimension of size 1 mean
// nothing.
#include "device/cuda/blas_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "device/matmul_layout.h"

namespace flambeau::cuda {
namespace {

using Operand = hal::Matmul::Operand;

// [rows, cols] with unit column stride, read as its column-major transpose [cols, rows].
std::optional<ColumnMatrix> row_major(const Operand& o, int64_t rows, int64_t cols) {
  if (!hal::lies_in_rows(o, rows, cols)) return std::nullopt;
  return ColumnMatrix{cols, rows, rows > 1 ? o.row : cols, o.batch, false};
}

// Either layout of [rows, cols], for an operand whose transpose [cols, rows] is what enters the
// product.
std::optional<ColumnMatrix> either(const Operand& o, int64_t rows, int64_t cols) {
  if (auto straight = row_major(o, rows, cols)) return straight;
  auto flipped = row_major(hal::transposed(o), cols, rows);
  if (flipped) flipped->transposed = true;
  return flipped;
}

bool fits(const hal::Matmul& p) {
  constexpr int64_t most =
      std::numeric_limits<int32_t>::max();  // its dimensions are 32-bit in part
  const bool dtype = p.dtype == Dtype::f32 || p.dtype == Dtype::f64 || is_half(p.dtype);
  return dtype && p.m > 0 && p.n > 0 && p.k > 0 && p.batches > 0 &&
         std::max({p.m, p.n, p.k, p.batches}) <= most;
}

// Rows of the GELU's input are read as those of out are, 16 bytes at a time.
bool takes_slope(const hal::SlopedMatmul& p) {
  const Operand& x = p.gelu_input;
  const bool aligned = x.row % 8 == 0 && reinterpret_cast<uintptr_t>(x.data) % 16 == 0;
  const bool alone = p.batches == 1 && !p.c.data && !p.relu && !p.row_sums;
  return alone && aligned && row_major(p.out, p.m, p.n) && x.col == 1 && x.row >= p.n;
}

}  // namespace

std::optional<BlasPlan> plan_of(const hal::SlopedMatmul& problem) {
  if (!fits(problem)) return std::nullopt;
  if (problem.gelu_input.data && !takes_slope(problem)) return std::nullopt;
  if (problem.row_sums && (problem.batches > 1 || problem.relu || problem.c.data))
    return std::nullopt;
  hal::Matmul p = problem;
  const bool swapped = !row_major(p.out, p.m, p.n);
  if (swapped) {  // out^T = b^T @ a^T
    std::swap(p.m, p.n);
    std::swap(p.a, p.b);
    for (Operand* o : {&p.out, &p.a, &p.b, &p.c}) *o = hal::transposed(*o);
  }
  const auto out = row_major(p.out, p.m, p.n), first = either(p.b, p.k, p.n),
             second = either(p.a, p.m, p.k);
  if (!out || !first || !second || (p.batches > 1 && p.out.batch == 0)) return std::nullopt;
  BlasPlan plan{*first, *second, *out, *out, p.b.data, p.a.data, p.out.data, p.out.data};
  plan.swapped = swapped;
  if (!p.c.data || p.beta == 0) return plan;
  if (hal::is_bias(p)) {
    plan.bias = p.c.data;
    return plan;
  }
  const auto c = row_major(p.c, p.m, p.n);
  if (!c) return std::nullopt;
  plan.c = *c;
  plan.c_data = p.c.data;
  plan.has_c = true;
  return plan;
}

}  // namespace flambeau::cuda
