// What modules behind a convolution add to its pass over the images: a batch norm that uses its
// running statistics, and a ReLU. A Sequential collects it where no gradient is recorded and no
// hook wants to see what is between them.
#pragma once
#include "tensor/tensor.h"

namespace flambeau::nn {

struct Epilogue {
  Tensor mean, var, weight, bias;  // of the norm; undefined mean: there is none
  double eps = 0;
  bool relu = false;
};

}  // namespace flambeau::nn
