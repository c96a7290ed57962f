// Attention of whole operands by tiles of products, on every device and for heads of any width:
// some entries of the batch and some rows of queries at a time go through product, softmax and
// product, and backward computes their weights again, so that memory grows with the length and not
// with its square. Which weights are dropped follows from a tile's number and an element's place in
// it, so that backward drops what forward dropped, for every number of threads.
#pragma once
#include "ops/nn/attention_cut.h"
#include "ops/random/draw.h"

namespace flambeau::ops {

struct PassHow {
  const char* op;  // that launches are of
  double scale;
  KeyBand band{};
  double dropped = 0;  // probability with which a weight counts for nothing
  Draw draw{};         // the first of draws_of_passes()
  bool wide = false;   // scores of half types are f32 on devices, too
};

// Of [batch, heads, rows, columns], none of which is 0; k and v may have fewer heads, by a divisor,
// each for several of q one after the other. `added` goes to the scores and may be undefined, as
// where there is a band.
struct PassOperands {
  const Tensor &q, &k, &v, &added;
};

// How many draws the tiles take, one each.
uint64_t draws_of_passes(const Tensor& q, const Tensor& k, const KeyBand& band);

// `logsumexp`: [batch, heads, rows, 1] of scores, or undefined.
void attention_passes(const Tensor& y, const PassOperands& of, const PassHow& how,
                      const Tensor& logsumexp = {});

// What each weight is multiplied by, as forward drew it, to `factors` of the scores' shape.
void drawn_passes(const Tensor& factors, const Tensor& q, const Tensor& k, const PassHow& how);

// Results uninitialised, but for dmask, which is added to: of dimensions of size 1 where the mask
// repeats itself, or undefined.
struct PassSlopes {
  const Tensor &dy, &dq, &dk, &dv, &dmask;
};
void attention_slope_passes(const PassOperands& of, const PassSlopes& slopes, const PassHow& how);

}  // namespace flambeau::ops
