// Convolutions of few channels in a group on a GPU, depthwise ones above all, without a product:
// every output is summed from where the image has its terms, of channels that lie side by side as
// many as 16 bytes hold. A block keeps its channels' weights in shared memory. They serve groups
// and dtypes that products of tiles do not; sums are in a fixed order.
#pragma once
#include "kernels/conv/conv.h"
#include "kernels/fast_divide.h"

namespace flambeau {

inline constexpr int kDirectThreads = 256, kDirectRun = 4, kDirectTaps = 4;

// `met` is what taps meet, `at` what lies at the positions: the result, or of the gradient by the
// weight what its taps are multiplied with. Tap t of position p meets (p * scale + shift + t *
// step) / by, where that is whole and inside.
struct ConvDirect {
  ConvOperand met, at, w;  // w: [channel of `at` in its group][channel of `met`][taps]
  int64_t w_group;         // elements between groups
  int32_t met_size[kConvDims], taps[kConvDims];
  int32_t scale[kConvDims], shift[kConvDims], step[kConvDims];
  FastDivide by[kConvDims];
  int32_t met_channels, at_channels;  // of a group
  int32_t channels;                   // of `at`
  int32_t lanes;                      // vectors of channels of a block, a power of two
  bool lanes_inside;                  // threads that follow each other have lanes, or positions
  int32_t run;                        // positions of a thread along h, several where it slides
  int32_t height, items;              // of `at`; runs in all images
  FastDivide size[kConvDims];         // positions of `at`, along h runs
  const char* bias;
  int64_t bias_stride;
  Activation activation;
  // Of the gradient by the weight: sums of each split, [split][channel][met channel][taps].
  char* parts;
  int32_t splits, tap_runs;
};

extern constinit Kernel kConvDirect, kConvDirectWide, kConvDirectWeight, kConvDirectWeightWide;

// Whether they serve a convolution, or the gradient by its data, into `out`; and the gradient by
// its weight. `args` are those of the plain kernels.
bool run_conv_direct(const char* op, const Tensor& y, const Tensor& x, const Tensor& w,
                     const Tensor& bias, const ConvArgs& args);
bool run_conv_direct_data(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& w,
                          const Tensor& bias, const ConvArgs& args);
bool run_conv_direct_weight(const char* op, const Tensor& dw, const Tensor& dy, const Tensor& x,
                            const ConvArgs& args);

}  // namespace flambeau
