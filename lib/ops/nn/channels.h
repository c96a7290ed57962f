// Batch norm on GPUs, both ways: a launch that takes the statistics of every channel, and one that
// makes everything else of them; where a block's registers hold what a channel has, one launch in
// all. Channels are planes of an image in C order, or its innermost dimension. The host has no such
// kernels: it composes them (norm_batch.cc).
#pragma once
#include <initializer_list>

#include "kernels/fast_divide.h"
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

inline constinit Kernel kChannelNorm{"batch_norm"}, kChannelNormBackward{"batch_norm"};

// A block's threads, and how many pieces each of them can hold.
inline constexpr int kChannelThreads = 256, kHeldThreads = 512;
inline constexpr int kHeldWidePieces = 4, kHeldSinglePieces = 8;

// A number for each channel, in the compute dtype where it is `wide`, else in that of x; no data:
// not wanted, or as if there were none.
struct ChannelNumbers {
  char* data;
  bool wide;
};

// How blocks go through the values: by pieces of `vec` neighbours.
struct ChannelWalk {
  FastDivide plane;  // by the pieces of one
  int64_t image;     // elements from a channel's plane to its next
  uint32_t pieces;   // of a channel, or of the channels side by side that a thread has
  uint32_t part;     // of them, one block's
  uint32_t parts;
  int64_t tiles;  // blocks side by side
  int threads;    // of a block
  int across;     // of them, side by side, log2
  int vec;        // what 16 bytes hold, or 1
  bool held;      // by a block's registers, all there is; of what is `summed`
};

struct ChannelArgs {
  int64_t channels, values;  // values: of each channel
  int64_t inner;             // neighbours of a channel, a plane; 0: channels are neighbours
  const char *x, *dy;
  const char* mask;  // dy is 0 where this is 0 or less; null: nowhere
  bool dy_still;     // within each plane, from one to the next in so many elements
  int64_t dy_image, dy_channel;
  char* out;                                              // y or dx, laid out as x is
  ChannelNumbers weight, bias, weight_slope, bias_slope;  // slopes: their gradients
  ChannelNumbers running_mean, running_var;  // in training they move, else they are read
  int64_t* batches;                          // in training one more; null: not counted
  char *mean, *rstd;                         // in the compute dtype
  double eps, momentum;
  bool training;
  bool summed;  // whether anything needs statistics, or the gradients' sums
  ChannelWalk walk;
  char* partial;  // of what is summed and not held: [parts, channels, 4] in the compute dtype
};

namespace ops {

struct ChannelNorm {
  Tensor running_mean, running_var, weight, bias;  // undefined where there is none
  bool training;
  double momentum, eps;
  Tensor batches{};  // i64 [], counted in training; undefined: not
};

// Whether kernels take x: it lies where they run, in an order that they know, or would once it is
// dense; and the others, where defined, are of x's dtype or the one it is computed in.
bool runs_by_channel(const Tensor& x, std::initializer_list<const Tensor*> others);

// y, laid out as x is. `mean` and `rstd`, of a number for each channel in the compute dtype, are
// written, and may be undefined outside training. In training the running statistics, which are
// dense, move with y, and the batch is counted, by the same launch.
Tensor norm_by_channel(const Tensor& x, const ChannelNorm& norm, const Tensor& mean,
                       const Tensor& rstd);

// Whether the gradients' kernel reads dy where it lies: as x does once dense, or the same number at
// all places of a plane, as means give it.
bool reads_slopes(const Tensor& dy, const Tensor& x);

// The gradients that are defined are written: of x laid out as it is once dense, of weight and bias
// dense. `weight` may be undefined. Where `mask` is defined, dy counts as 0 where it is 0 or less.
struct ChannelGradients {
  Tensor x, weight, bias;
};
void norm_backward_by_channel(const ChannelGradients& gradients, const Tensor& dy,
                              const Tensor& mask, const Tensor& x, const Tensor& weight,
                              const Tensor& mean, const Tensor& rstd, bool training);

}  // namespace ops

}  // namespace flambeau
