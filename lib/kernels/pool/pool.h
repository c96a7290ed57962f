// Pooling over windows in one to three dimensions: maxima with their indices, averages, adaptive
// averages, and their gradients. Gradients gather: each input element sums the windows that contain
// it in a fixed order.
#pragma once
#include "kernels/conv/conv.h"
#include "kernels/far_divide.h"

namespace flambeau {

struct PoolParams {
  Dims kernel, stride, padding, dilation;  // one per spatial dimension; averages need dilation 1
  bool ceil_mode = false;
  bool count_include_pad = true;  // averages: padding counts as elements
  int64_t divisor = 0;            // averages: divide by this; 0: by the number of elements
};

// Sizes of the result for x [n, c, ...]; throws shape errors.
Dims pool_sizes(const char* op, const Tensor& x, const PoolParams& params);

// y and indices (i64; position in the spatial plane of the first maximum, NaN being the greatest;
// undefined: nobody asks).
void run_max_pool(const char* op, const Tensor& y, const Tensor& indices, const Tensor& x,
                  const PoolParams& params);
void run_max_pool_backward(const char* op, const Tensor& dx, const Tensor& dy,
                           const Tensor& indices, const PoolParams& params);
// The windows of an adaptive maximum are those of the adaptive average below.
void run_adaptive_max_pool(const char* op, const Tensor& y, const Tensor& indices, const Tensor& x);
void run_adaptive_max_pool_backward(const char* op, const Tensor& dx, const Tensor& dy,
                                    const Tensor& indices);
void run_avg_pool(const char* op, const Tensor& y, const Tensor& x, const PoolParams& params);
void run_avg_pool_backward(const char* op, const Tensor& dx, const Tensor& dy,
                           const PoolParams& params);
// Output o of a dimension averages elements floor(o in / out) up to ceil((o + 1) in / out).
void run_adaptive_avg_pool(const char* op, const Tensor& y, const Tensor& x);
void run_adaptive_avg_pool_backward(const char* op, const Tensor& dx, const Tensor& dy);

// ---- what a launch receives
// ------------------------------------------------------------------------------

struct PoolArgs {
  int64_t images, channels;
  int64_t in[kConvDims], out[kConvDims], kernel[kConvDims];
  int64_t stride[kConvDims], padding[kConvDims], dilation[kConvDims];
  ConvOperand x, y, indices;  // or their gradients
  int64_t divisor;
  bool adaptive, count_include_pad;
  // Set as the launch begins: of adaptive windows by the sizes, of others by steps.
  FarDivide by_in[kConvDims], by_out[kConvDims], by_stride[kConvDims], by_dilation[kConvDims];
};

extern constinit Kernel kMaxPool, kMaxPoolBackward, kAvgPool, kAvgPoolBackward;

}  // namespace flambeau
