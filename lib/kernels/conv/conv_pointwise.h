// Convolutions whose window is one position, as products of matrices by a vendor's library, on
// devices that have one: of pixels as they lie with channels next to each other, and of planes
// without a bias as a batch. Images are neither turned nor copied.
#pragma once
#include "kernels/conv/conv.h"

namespace flambeau {

// Whether one is, of such sizes and where such a product runs; not yet whether its operands lie so.
bool is_conv_pointwise(const Tensor& out, const ConvArgs& args);

// Each says false, and does nothing, where a library's product does not serve.
bool run_conv_pointwise(const char* op, const Tensor& y, const Tensor& x, const Tensor& w,
                        const Tensor& bias, const ConvArgs& args);
bool run_conv_pointwise_data(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& w,
                             const Tensor& bias, const ConvArgs& args);
// Of pixels alone: planes would be a sum of products, each rounded to the result's type.
bool run_conv_pointwise_weight(const char* op, const Tensor& dw, const Tensor& dy, const Tensor& x,
                               const ConvArgs& args);

}  // namespace flambeau
