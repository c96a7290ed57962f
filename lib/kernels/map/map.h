// Elementwise kernels: the arguments of one launch and the plan that makes them from tensors.
// The plan drops dimensions of size 1, orders the rest by the output's strides and merges
// neighbours, so that most launches are one flat loop.
#pragma once
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

inline constexpr int kMapDims = 8, kMapOperands = 5, kMapParams = 4;

struct MapArgs {
  int64_t numel;
  int32_t ndim, operands;  // operand 0 is the output
  Dtype out_dtype;
  int8_t contiguous;  // every operand is one dense run
  int64_t size[kMapDims];
  int64_t stride[kMapOperands][kMapDims];  // in bytes; innermost last
  char* data[kMapOperands];
  double params[kMapParams];               // a functor's members, in order
  alignas(8) char value[kMapOperands][8];  // operand i itself where data[i] is null: a host scalar
};

using MapParams = std::initializer_list<double>;

// Runs `kernel` on `out`'s device and current stream; dtype keys the kernel's cells. Inputs
// broadcast to out.
void run_map(const char* op, const Kernel& kernel, Dtype dtype, const Tensor& out,
             std::span<const Tensor* const> inputs, MapParams params);

// Copies with conversion between tensors of one device; a real takes a complex number's real part.
void run_cast(const Tensor& out, const Tensor& input);
extern constinit Kernel kCast;

}  // namespace flambeau
