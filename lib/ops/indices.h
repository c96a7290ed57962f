// What indexing ops share: index operands as the kernels want them.
#pragma once
#include "kernels/index.h"
#include "ops/ops.h"

namespace flambeau::ops {

// int64, on the device of the indexed tensor.
Tensor index_operand(const char* op, const Tensor& index, Device device);
// x[lists] and x[lists] = values (or +=), recorded; the second one writes in place.
Tensor read_lists(const Tensor& x, const IndexTensors& lists);
Tensor write_lists(const Tensor& x, const IndexTensors& lists, const Tensor& values,
                   bool accumulate);
// Row-major positions to one index per dimension.
std::vector<Tensor> coordinates(const Tensor& positions, DimsView sizes);
// Where a mask is true, as one index per dimension; waits.
std::vector<Tensor> mask_coordinates(const char* op, const Tensor& mask);

}  // namespace flambeau::ops
