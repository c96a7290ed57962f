// Kernels over rows: every output of a row needs the whole row. Any dimension can be the row; the
// planner moves it last and copies what is not dense there. ops/nn/rows.h has kernels and calls.
//
// each(): one value per row, dense, shaped like x without `dim`; in the compute dtype (f32, or f64
// for f64), or int64. shared(): the same for every row.
#pragma once
#include <initializer_list>

#include "kernels/access.h"

namespace flambeau {

inline constexpr int kRowOperands = 8, kRowParams = 4;

struct RowArgs {
  int64_t rows, n;
  char* data[kRowOperands];      // null: left out
  int64_t stride[kRowOperands];  // bytes from row to row; 0: the same for all
  const char* op;
  struct Report* report;
  double params[kRowParams];
};

enum class RowRole : int8_t { row, each, shared };
struct RowOperand {
  const Tensor* tensor;  // undefined: left out
  RowRole role;
  bool output;
};
inline RowOperand row(const Tensor& t) { return {&t, RowRole::row, false}; }
inline RowOperand each(const Tensor& t) { return {&t, RowRole::each, false}; }
inline RowOperand shared(const Tensor& t) { return {&t, RowRole::shared, false}; }
inline RowOperand out_row(const Tensor& t) { return {&t, RowRole::row, true}; }
inline RowOperand out_each(const Tensor& t) { return {&t, RowRole::each, true}; }

// `dtype` keys the kernel's cells: that of the rows.
void run_row(const char* op, const Kernel& kernel, Dtype dtype, int64_t dim,
             std::initializer_list<RowOperand> operands, std::initializer_list<double> params = {});

}  // namespace flambeau
