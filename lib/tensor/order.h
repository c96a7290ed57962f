// Orders of dimensions in memory, torch's of an image among them. Strides alone say that channels
// come last, as in torch: an op whose operand is so lays its result out alike.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

// Whether the elements fill one stretch of memory, each once, in whatever order of dimensions.
// Steps along dimensions of one element do not count; no elements fill an empty stretch.
bool is_dense(const Tensor& t);

// Whether a [n, c, h, w] or [n, c, d, h, w] lies with its channels innermost. Strides that fit both
// orders count as C order; `depth`: whether five dimensions count.
bool is_channels_last(const Tensor& t, bool depth = true);

// Of a dense [n, c, ...] with its channels innermost.
Dims channels_last_strides(DimsView sizes);

inline Tensor empty_image(DimsView sizes, Dtype dtype, Device device, bool channels_last) {
  return channels_last ? empty_strided(sizes, channels_last_strides(sizes), dtype, device)
                       : empty(sizes, dtype, device);
}

}  // namespace flambeau
