// Resampling in one to three dimensions by banded matrices, one per dimension: element o of the
// result sums elements first[o] to first[o] + count[o] of the input, each times its weight. Every
// interpolation and its gradient (the transposed bands) is this one kernel.
#pragma once
#include "kernels/conv/conv.h"

namespace flambeau {

struct Band {
  Tensor first, count;  // i64 [out]
  int64_t taps;         // the most of an element
  Tensor weights;  // [out, taps], as elements are computed, of bytes f32 or f64; undefined: all 1
};

// y [n, c, ...] from x [n, c, ...]; one band per spatial dimension.
void run_resample(const char* op, const Tensor& y, const Tensor& x,
                  const SmallVector<Band, kConvDims>& bands);

// ---- what a launch receives
// ------------------------------------------------------------------------------

struct ResampleBand {
  const int64_t *first, *count;  // null: the dimension is not resampled
  const char* weights;           // null: 1
  int64_t taps;
};

struct ResampleArgs {
  int64_t images, channels;
  int64_t in[kConvDims], out[kConvDims];
  ResampleBand band[kConvDims];
  ConvOperand x, y;
  bool wide;  // weights are f64
};

extern constinit Kernel kResample;

}  // namespace flambeau
