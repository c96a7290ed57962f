// Kernels over rows: every output of a row needs the whole row. Any dimension can be the row; the
// planner moves it last and copies what is not dense there.
//
//   run_row("softmax", kSoftmax, dtype, dim, {out_row(y), row(x)})                   kLogSoftmax
//       alike; the former with {1}: rows of -infinity become 0
//   run_row("softmax", kSoftmaxBackward, dtype, dim, {out_row(dx), row(dy), row(y)})
//       kLogSoftmaxBackward alike
//   run_row("layer_norm", kLayerNorm, dtype, 1, {out_row(y), out_each(mean), out_each(rstd),
//       row(x), shared(w),
//           shared(b)}, {eps})                   x as [rows, n]; w, b may be undefined; kRmsNorm:
//               no mean, no b
//   run_row("layer_norm", kLayerNormBackward, dtype, 1, {out_row(dx), out_row(hat), row(dy),
//       row(x), each(mean),
//           each(rstd), shared(w)})
//        hat (may be undefined; dtype of x) = dy * (x - mean) * rstd: its sum over rows is the
//            weight's gradient
//   run_row("cross_entropy", kCrossEntropy, dtype, dim, {out_each(loss), out_each(lse),
//       out_each(share), row(x),
//           each(target), shared(weight), shared(total)}, {ignore_index, smoothing})
//        share: what the row counts in a mean (its class's weight, 1 without; 0 where ignored)
//   run_row("cross_entropy", kCrossEntropyBackward, dtype, dim, {out_row(dx), each(g), row(x),
//       each(target), each(lse),
//           shared(weight), shared(total)}, same)
//
// each(): one value per row, dense, shaped like x without `dim`; in the compute dtype (f32, or f64
// for f64), but target is int64. weight has the compute dtype; total is the 0-d f64 sum of weights,
// wanted only with smoothing and weights.
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

extern constinit Kernel kSoftmax, kLogSoftmax, kSoftmaxBackward, kLogSoftmaxBackward;
extern constinit Kernel kLayerNorm, kLayerNormBackward, kRmsNorm, kRmsNormBackward;
extern constinit Kernel kCrossEntropy, kCrossEntropyBackward;

}  // namespace flambeau
