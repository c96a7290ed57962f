// Whether a dtype has a value for a bare number, for operations that write numbers into tensors:
// what it has no value for would arrive as another number.
#pragma once
#include "tensor/tensor.h"

namespace flambeau::ops {

// Both fail where it has none. A tensor that is no bare number is cast like any other.
void check_fits(double number, Dtype dtype);
void check_fits(const Tensor& number, Dtype dtype);

// The greatest finite value of a dtype.
double greatest_of(Dtype dtype);

// Fails where no value of an integral dtype is between the bounds; the one between is then meant.
void check_bounds(double low, double high, Dtype dtype);

}  // namespace flambeau::ops
