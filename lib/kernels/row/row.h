// Kernels over rows: every output of a row needs the whole row. Any dimension can be the row. The
// host takes rows that are not dense, and short ones, many at a time (row_aside.h); where that
// cannot be, the planner moves the dimension last and copies. ops/nn/rows.h has kernels and calls.
//
// each(): one value per row, dense, shaped like x without `dim`; in the compute dtype (f32, or f64
// for f64), or int64. shared(): the same for every row. out_total(): [n], the sum over all rows of
// what the functor adds, or of an operand's own; the host sums in double while the rows are in its
// cache, GPUs while they hold them, or read the rows once more. out_joined(): a number that the
// functor makes of the sums of values that each row has one of.
#pragma once
#include <initializer_list>

#include "kernels/access.h"

namespace flambeau {

inline constexpr int kRowOperands = 9, kRowParams = 4;
inline constexpr int64_t kColumnTerms = 4096;  // the most of rows that are taken side by side

enum class RowRole : int8_t { row, each, shared, total, joined };

struct RowArgs {
  int64_t rows, n;
  char* data[kRowOperands];      // null: left out
  int64_t stride[kRowOperands];  // bytes from row to row; 0: the same for all
  const char* op;
  struct Report* report;
  double params[kRowParams];
  // Side by side, on the host: row i lies at i / inner * far + i % inner * stride, its terms `step`
  // bytes apart. 0: rows are dense and come one by one.
  int64_t inner, far[kRowOperands], step[kRowOperands];
  // On GPUs, of totals: their sums over each of `parts` parts of the rows, or `held_parts` where
  // rows are held, of which 0 says that they cannot be; or the sums of each of at most
  // kJoinedBlocks blocks; and the tickets for the last one.
  char* partial;
  int32_t parts, held_parts, tickets;
  int32_t operands, bytes[kRowOperands];  // of an element
  int32_t of[kRowOperands];               // whose own rows a total sums, or -1
  RowRole role[kRowOperands];
  bool output[kRowOperands];
};

struct RowOperand {
  const Tensor* tensor;  // undefined: left out
  RowRole role;
  bool output;
  const Tensor* of = nullptr;
};
inline RowOperand row(const Tensor& t) { return {&t, RowRole::row, false}; }
inline RowOperand each(const Tensor& t) { return {&t, RowRole::each, false}; }
inline RowOperand shared(const Tensor& t) { return {&t, RowRole::shared, false}; }
inline RowOperand out_row(const Tensor& t) { return {&t, RowRole::row, true}; }
inline RowOperand out_each(const Tensor& t) { return {&t, RowRole::each, true}; }

inline RowOperand out_total(const Tensor& t) { return {&t, RowRole::total, true}; }
inline RowOperand out_total(const Tensor& t, const Tensor& of) {
  return {&t, RowRole::total, true, &of};
}

inline RowOperand out_joined(const Tensor& t) { return {&t, RowRole::joined, true}; }
inline constexpr int kJoinedBlocks = 2048;
// Whether the device's kernels give what is joined; the host leaves that to a fold.
bool joins_rows(Device device);

// `dtype` keys the kernel's cells: that of the rows.
void run_row(const char* op, const Kernel& kernel, Dtype dtype, int64_t dim,
             std::initializer_list<RowOperand> operands, std::initializer_list<double> params = {});

}  // namespace flambeau
