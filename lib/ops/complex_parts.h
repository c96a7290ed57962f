// Elementwise kernels on complex operands: one launch for the real parts and one for the imaginary
// ones, of a kernel that treats both alike or of one for each.
#pragma once
#include "kernels/map/map.h"
#include "tensor/tensor.h"

namespace flambeau {

// `kernel` on either part, where it does the same to both (a sum, a choice); throws where it does
// not. Real inputs, such as a mask, go into both.
void run_map_by_parts(const char* op, const Kernel& kernel, const Tensor& out,
                      std::span<const Tensor* const> inputs, MapParams params);

// out = real(parts of inputs) + i imag(parts of inputs), where a kernel takes the real and the
// imaginary part of each input.
void run_map_of_parts(const char* op, const Kernel& real, const Kernel& imag, const Tensor& out,
                      std::span<const Tensor* const> inputs);

}  // namespace flambeau
