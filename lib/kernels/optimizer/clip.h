// What clipping does to a list of gradients: their 2-norms, the norm of these and the factor that
// it allows, in a launch for each 96 of them, and the factor for all. Squares are summed by pieces
// of 4096 elements in f64, in which they neither overflow nor vanish, and in an order that does not
// depend on the number of threads.
#pragma once
#include "kernels/optimizer/optimizer.h"

namespace flambeau {

// total = the norm of all ||tensors[i]||, which are rounded as it is; all of one floating dtype and
// device, each one stretch of memory, one of them not empty. factor, an f32 where it is defined, =
// min(1, most / (total + 1e-6)), rounded to that dtype at each step.
void run_norms(const char* op, TensorsView tensors, const Tensor& total, const Tensor& factor,
               double most);

// t *= factor, an f32 on the device, in place. Of f32 and half types, each one stretch of memory,
// none of which overlaps another.
void run_scale(const char* op, TensorsView tensors, const Tensor& factor);

inline constexpr int kNormTensors = 96;

struct NormEntry {
  const char* data;
  int64_t numel;  // not 0
  int32_t first_chunk;
};

struct NormListArgs {
  int32_t tensors, chunks, first, tickets;  // first: of all that have a norm, the list's first
  double* partial;                          // one per chunk
  char *norms, *total;  // of all tensors; null but with the last list, when all norms are there
  float* factor;        // with total, or null
  double most;
  NormEntry entry[kNormTensors];
};

extern constinit Kernel kNormList, kScaleList;

}  // namespace flambeau
