// What clipping does to a list of gradients, in a few launches for each 48 of them: their 2-norms,
// and one factor for all. Squares are summed by pieces of 4096 elements in f64, in which they
// neither overflow nor vanish, and in an order that does not depend on the number of threads.
#pragma once
#include "kernels/optimizer/optimizer.h"

namespace flambeau {

// norms[i] = ||tensors[i]||; all of one floating dtype and device, each one stretch of memory.
void run_norms(const char* op, TensorsView tensors, const Tensor& norms);

// t *= factor, an f32 on the device, in place. Of f32 and half types, each one stretch of memory,
// none of which overlaps another.
void run_scale(const char* op, TensorsView tensors, const Tensor& factor);

struct NormListArgs {
  ListArgs list;    // of entries, what lies in `grad`
  double* partial;  // one per chunk
  char* norms;      // of the list's first tensor, and on
};

extern constinit Kernel kSquareList, kRootList, kScaleList;

}  // namespace flambeau
