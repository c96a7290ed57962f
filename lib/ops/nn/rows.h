// Softmax, norms over rows and the fused cross entropy as kernels over rows (kernels/row/row.h):
// their operands in order, and their parameters in braces.
//
//   kSoftmax               {out_row(y), row(x)}, {1: rows of -infinity become 0}
//   kSoftmaxBackward       {out_row(dx), row(dy), row(y)}; both also of the logarithm
//   kLayerNorm             {out_row(y), out_each(mean), out_each(rstd), row(x), shared(w),
//                          shared(b)}, {eps}; x as [rows, n]; w and b may be undefined
//   kLayerNormBackward     {out_row(dx), out_total(dw), out_total(db, dy), row(dy), row(x),
//                          each(rstd), shared(w), each(mean), row(before)}; dw and db may be
//                          undefined, as may before, which on GPUs alone is added to dx, after that
//                          was rounded, and may be where dx goes
//   kRmsNorm, its Backward alike, without mean and b; the latter's are undefined
//   kCrossEntropy          {out_each(loss), out_each(lse), out_each(share), row(x), each(target),
//                          shared(weight), shared(total), out_joined(y), out_joined(shares)},
//                          {ignore_index, smoothing}; share: what the row counts in a mean (its
//                          class's weight, 1 without; 0 where ignored); y: the sum of losses,
//                          divided by that of shares where these are wanted; both on GPUs alone,
//                          where then loss and share may be undefined
//   kCrossEntropyBackward  {out_row(dx), each(g), row(x), each(target), each(lse), shared(weight),
//                          shared(total), shared(divisor)}, and the same parameters
//
// target is int64; weight has the compute dtype; total is the 0-d sum of weights in it, wanted only
// with smoothing and weights; divisor, 0-d in it, is what each g is divided by, or undefined; g may
// be undefined, too, which is 1.
#pragma once
#include "kernels/row/row.h"

namespace flambeau {

inline constinit Kernel kSoftmax{"softmax"}, kLogSoftmax{"log_softmax"};
inline constinit Kernel kSoftmaxBackward{"softmax"}, kLogSoftmaxBackward{"log_softmax"};
inline constinit Kernel kLayerNorm{"layer_norm"}, kLayerNormBackward{"layer_norm"};
inline constinit Kernel kRmsNorm{"rms_norm"}, kRmsNormBackward{"rms_norm"};
inline constinit Kernel kCrossEntropy{"cross_entropy"}, kCrossEntropyBackward{"cross_entropy"};

}  // namespace flambeau
