// How losses fold their elements.
#pragma once
#include "base/error.h"
#include "kernels/fold/fold.h"
#include "ops/call.h"
#include "ops/formula.h"

namespace flambeau::ops {

inline void check_reduction(const char* op, int32_t reduction) {
  if (reduction >= FLAM_REDUCTION_NONE && reduction <= FLAM_REDUCTION_SUM) return;
  fail(Code::invalid_argument, op, ": ", reduction,
       " is not a valid value for reduction; use none, mean or sum");
}

// Elements of a loss, made by ops, folded by ops.
inline Tensor reduced(const Tensor& losses, int32_t reduction) {
  return reduction == FLAM_REDUCTION_NONE  ? losses
         : reduction == FLAM_REDUCTION_SUM ? sum(losses)
                                           : mean(losses);
}

// The same within an op's own call.
inline Tensor fold_losses(Call& c, Tensor losses, int32_t reduction) {
  if (reduction == FLAM_REDUCTION_NONE) return losses;
  Dims all;
  for (int64_t d = 0; d < losses.dim(); ++d) all.push_back(d);
  Tensor y = flambeau::empty({}, losses.dtype(), c.device());
  run_fold(c.op(), reduction == FLAM_REDUCTION_SUM ? kSum : kMean, losses.dtype(), y, losses, all);
  return y;
}

}  // namespace flambeau::ops
