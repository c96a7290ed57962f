// Reductions over any set of dimensions: the arguments of one launch and the plan that makes them.
//
//   run_fold("sum", kSum, x.dtype(), out, x, dims)                            x without `dims`
//   run_fold("argmax", kMaxIndex, x.dtype(), {}, x, dims, {}, {.index = i})   i: int64; no `out`
//   run_fold("norm", kNormP, x.dtype(), out, x, dims, {p})                    the monoid's members
//   run_var("std", out, x, dims, correction, true)                            two passes
//   run_logsumexp("logsumexp", out, x, dims)
//
// `out` may have any dtype (a sum of f16 into f32 rounds once), any strides, and reduced dimensions
// kept with size 1 or dropped. f32 accumulates in double, halves in f32, integers in int64. How
// terms are grouped depends on shapes only, so results do not depend on the number of threads.
#pragma once
#include "kernels/access.h"

namespace flambeau {

inline constexpr int kFoldDims = 8, kFoldParams = 2;
inline constexpr int kFoldColumns = 1024;  // outputs that one thread folds side by side

struct FoldArgs {
  int64_t outputs, count;  // results, and terms of each
  int64_t blocks, block;   // the terms of an output are cut into `blocks` runs of `block`
  int32_t kept, reduced;   // dimensions; innermost last
  Dtype out_dtype;
  int8_t columns;  // neighbouring outputs are neighbours in memory: fold many side by side
  int64_t kept_size[kFoldDims], kept_in[kFoldDims];  // strides of the input in bytes
  int64_t kept_out[kFoldDims];                       // of the outputs in elements
  int64_t reduced_size[kFoldDims], reduced_in[kFoldDims];
  const char* in;
  char* out;             // null: not wanted
  int64_t* index;        // null: not wanted
  const double* centre;  // one per output; null: 0
  char* partial;         // outputs x blocks accumulators, where blocks > 1
  double params[kFoldParams];
};

struct FoldExtra {
  Tensor index;   // int64, where the monoid has positions: within the reduced dimensions, row-major
  Tensor centre;  // f64, shaped like out: what a centred monoid measures from
};

void run_fold(const char* op, const Kernel& kernel, Dtype dtype, const Tensor& out,
              const Tensor& input, DimsView dims, std::initializer_list<double> params = {},
              const FoldExtra& extra = {});

void run_var(const char* op, const Tensor& out, const Tensor& input, DimsView dims,
             double correction, bool root);
void run_logsumexp(const char* op, const Tensor& out, const Tensor& input, DimsView dims);

// Parameters in braces. Sums and products of integers and bool come out as int64 values.
extern constinit Kernel kSum, kProd;  // any dtype
extern constinit Kernel kTruth;       // any dtype; {kCountTrue|kAnyTrue|kAllTrue}
// Any dtype; NaN wins; the first of equals.
extern constinit Kernel kMax, kMin, kMaxIndex, kMinIndex;
extern constinit Kernel kMean, kNorm1, kNormMax, kNormMin;  // floating; norms are of |x|
extern constinit Kernel kSumSquares;                        // floating; {1: the root of it}
extern constinit Kernel kNormP;                             // floating; {p}
extern constinit Kernel kCentredSquares, kCentredExp;       // behind run_var and run_logsumexp
inline constexpr double kCountTrue = 0, kAnyTrue = 1, kAllTrue = 2;

}  // namespace flambeau
