// Convolutions as products of matrices on a GPU, on its matrix units for f16 and bf16. No matrix of
// patches is ever in memory: a row is a position, a step of the depth is a tap and eight channels,
// which a block copies from where the image has them into its tiles. Images and weights lie with
// channels next to each other; what lies otherwise is turned once before. But f32, whose products
// take longer than words to copy, is read where it lies in planes, and its weights as they lie. So
// are half types where blocks copy a value at most five times, counted over the taps that meet it
// and the blocks that share it; not under one tap without strides, which reads all of an image.
#pragma once
#include "kernels/conv/conv.h"
#include "kernels/fast_divide.h"

namespace flambeau {

// Images as [image][...space][group][channels], each pixel's groups aligned to a chunk of 16 bytes.
struct ConvPixels {
  const char* data;
  int64_t image;  // elements between images
  int32_t space[kConvDims], group;
  int32_t size[kConvDims], channels;  // of one group
};

// Rows are positions of the result, of the gradient by the weight its channels; columns are
// channels of the result, of that gradient taps and channels. The depth is taps and channels, of
// that gradient positions.
struct ConvProduct {
  ConvPixels met, own;  // what taps meet; of the gradient by the weight what is at the positions
  const char* w;        // [output channel][tap][channels]
  int32_t w_row;        // elements of one output channel
  int32_t rows, columns, depth;  // of one group; depth in chunks where it is of channels
  int32_t groups, steps, splits, row_tiles, column_tiles;
  FastDivide positions[kConvDims], taps[kConvDims], chunks;  // chunks of a pixel's group
  int32_t scale[kConvDims], shift[kConvDims], step[kConvDims];
  FastDivide stride[kConvDims];
  ConvOperand out;
  bool chunks_out;  // the result takes 16 bytes of channels at a time
  const char* bias;
  int64_t bias_stride;
  Activation activation;
  float* parts;     // sums of each of several splits, [split][group][rows][columns]
  int32_t tickets;  // for the last block of a tile, or -1: another launch adds parts up
};

// Of images in planes: the depth is channels and taps, in elements, and so are columns of the
// gradient by the weight.
struct ConvPlanes : ConvProduct {
  FastDivide all_taps;
  int32_t met_channel, own_channel;  // elements between channels
  int32_t w_depth, w_tap[kConvDims];
  int64_t w_group;
  bool w_chunks;  // the depth of a row of weights lies in chunks
};
inline constexpr int kConvMostTaps = 31;     // of planes
inline constexpr int kConvPairColumns = 64;  // of a block, of half types in planes: registers

extern constinit Kernel kConvProduct, kConvProductData, kConvProductWeight;
extern constinit Kernel kConvPlanes, kConvPlanesData, kConvPlanesWeight;

// Whether a product serves them: where a kernel is, for enough channels in each group and sizes
// that 32 bits count. `args` are those of the plain kernels.
bool conv_product_serves(const Kernel& kernel, const Tensor& out, const ConvArgs& args);

// Operands of both gradients: those that these would turn are turned here, in one launch.
void bring_conv_product(Tensor& dy, Tensor& x, Tensor& w, const ConvArgs& args);

void run_conv_product(const char* op, const Tensor& y, const Tensor& x, const Tensor& w,
                      const Tensor& bias, const ConvArgs& args);
void run_conv_product_data(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& w,
                           const Tensor& bias, const ConvArgs& args);
void run_conv_product_weight(const char* op, const Tensor& dw, const Tensor& dy, const Tensor& x,
                             const ConvArgs& args);

}  // namespace flambeau
