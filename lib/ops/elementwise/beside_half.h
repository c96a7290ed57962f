// A number beside a tensor of a half type, a program's or a 0-d tensor's on the cpu: it is taken in
// float, in which the kernel computes, and the result is rounded once, as PyTorch's kernels for
// GPUs do. Rounded to the tensor's dtype first, 0.3 would be off by 2^-9 in bf16, and 70000
// infinite in f16.
//
// An operation that takes numbers so converts by promote_beside() and runs by map_beside(); what it
// saves for its gradient is the number itself. Powers, remainders, comparisons, choices and whole
// quotients of a number round it first, as PyTorch's do: `x == 0.3` finds what 0.3 was stored as.
#pragma once
#include "ops/call.h"
#include "ops/elementwise/binary.h"
#include "ops/read.h"

namespace flambeau::ops {

// Whether operand i of two is a number that a half type is not to round.
inline bool is_beside_half(const Call& c, size_t i, Dtype dtype) {
  const Tensor &number = c[i], &other = c[1 - i];
  return is_half(dtype) && number.dim() == 0 && number.dtype() != dtype &&
         number.device().is_cpu() && (other.dim() > 0 || other.dtype() == dtype);
}

// Both operands to one dtype, but a number beside a half type.
inline void convert_beside(Call& c, Dtype dtype) {
  const bool kept[] = {is_beside_half(c, 0, dtype), is_beside_half(c, 1, dtype)};
  for (size_t i = 0; i < 2; ++i) {
    if (!kept[i]) c.convert(i, dtype);
  }
}

inline Dtype promote_beside(Call& c) {
  const Dtype dtype = c.promoted();
  convert_beside(c, dtype);
  return dtype;
}

// As kernels take it: a large integer is rounded once, too.
inline double number_in_float(const Tensor& t) { return read_as<float>(t); }

// The kernels are those of two tensors, of x (op) number and of number (op) x.
inline Tensor map_beside(Call& c, const Kernel& of_tensors, const Kernel& by_number,
                         const Kernel& of_number) {
  if (is_beside_half(c, 1, c[0].dtype())) return c.map(by_number, {c[0]}, {number_in_float(c[1])});
  if (is_beside_half(c, 0, c[1].dtype())) return c.map(of_number, {c[1]}, {number_in_float(c[0])});
  return c.map(of_tensors, {c[0], c[1]});
}

}  // namespace flambeau::ops
