// Random numbers: Philox4x32-10 keyed by a seed, its counter made of an offset and the element's
// position, so that results do not depend on threads, blocks or the device's schedule. Also kernels
// whose elements follow from their position alone (ranges, identities, triangles).
//
//   run_random("rand", kUniform, out, {{seed, offset}}, {from, to})          floating; [from, to)
//   run_random("randn", kNormal, out, draw, {mean, std})                     floating
//   run_random("exponential_", kExponential, out, draw, {lambda})            floating
//   run_random("bernoulli", kBernoulli, out, draw, {p})                      any; p: or `input`
//   run_random("randint", kRandint, out, draw, {}, {.low = 0, .high = 10})   any; [low, high)
//   run_random("dropout", kDropout, y, draw, {p}, {.input = x})              x / (1 - p), or 0
//   random_permutation(n, state)                                             int64 on the cpu
//   run_arange, run_linspace, run_eye, run_triangle                          see below
//
// Dropout's element is 0 with probability p; again with the same draw and dy for x it is its own
// gradient, so that no mask is kept. Permutations are Fisher and Yates'.
//
// One launch uses one offset: the caller's generator adds 1 to it per call. multinomial needs no
// kernel: the greatest of p / exponential is a draw (the k greatest: without replacement).
#pragma once
#include "kernels/access.h"

namespace flambeau {

struct RandomState {
  uint64_t seed, offset;
};

// What one launch draws from: `state`, or, where there is a `cell`, i64[2] of a seed and an offset
// in device memory, those as they are when the launch's turn comes, the offset plus that of
// `state`.
struct Draw {
  RandomState state;
  Tensor cell{};
};

struct RandomArgs {
  int64_t numel;
  char* out;          // dense
  const char* input;  // dense, same dtype; or null
  RandomState state;
  const RandomState* cell;  // in device memory, or null
  int64_t low;
  uint64_t range;
  double params[2];
};

struct RandomExtra {
  Tensor input{};
  int64_t low = 0, high = 0;
};

void run_random(const char* op, const Kernel& kernel, const Tensor& out, const Draw& draw,
                std::initializer_list<double> params, const RandomExtra& extra = {});
Tensor random_permutation(int64_t n, RandomState state);

extern constinit Kernel kUniform, kNormal, kExponential, kBernoulli, kRandint, kDropout;

// ---- elements that follow from their position ---------------------------------------------------

struct RangeArgs {
  int64_t numel;
  char* out;
  const char* input;  // dense, same dtype; or null
  int64_t whole[3];   // integers of the kernel
  double params[2];
};

// arange computes in int64 for integral dtypes, in double for floating ones.
void run_arange(const char* op, const Tensor& out, double start, double step, int64_t whole_start,
                int64_t whole_step);
void run_linspace(const char* op, const Tensor& out, double start, double end);
void run_eye(const char* op, const Tensor& out);  // out: [n, m]
void run_triangle(const char* op, const Tensor& out, const Tensor& x, int64_t diagonal, bool upper);

extern constinit Kernel kArange, kLinspace, kEye, kTriangle;

}  // namespace flambeau
