// Initialisers of parameters.
#pragma once
#include "graph/generator.h"
#include "tensor/tensor.h"

namespace flambeau::nn {

struct Fans {
  int64_t in, out;
};
Fans fans(const Tensor& weight);  // throws shape error below two dimensions

void init_constant(const Tensor& t, double value);
void init_uniform(const Tensor& t, double a, double b, Generator* g);
void init_normal(const Tensor& t, double mean, double std, Generator* g);

}  // namespace flambeau::nn
