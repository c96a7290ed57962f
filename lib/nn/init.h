// Initialisers of parameters: their formulas once, for layers, programs and every binding. Each
// fills its tensor in place, outside autograd; one without elements stays as it is.
#pragma once
#include <optional>

#include "graph/generator.h"
#include "tensor/tensor.h"

namespace flambeau::nn {

struct Fans {
  int64_t in, out;
};
Fans fans(const Tensor& weight);  // throws shape error below two dimensions

// Which of a weight's two sizes keeps the variance; the numbers are flam_fan's.
enum class Fan : int32_t { unspecified, in, out };

// What non-linearities do to the scale of activations; the numbers are flam_nonlinearity's.
enum class Nonlinearity : int32_t { unspecified, linear, tanh, relu, leaky_relu, selu };
double gain_of(Nonlinearity kind, std::optional<double> param);

void init_constant(const Tensor& t, double value);
void init_uniform(const Tensor& t, double a, double b, Generator* g);
void init_normal(const Tensor& t, double mean, double std, Generator* g);
void init_trunc_normal(const Tensor& t, double mean, double std, double a, double b, Generator* g);
void init_xavier_uniform(const Tensor& t, double gain, Generator* g);
void init_xavier_normal(const Tensor& t, double gain, Generator* g);
void init_kaiming_uniform(const Tensor& t, double gain, Fan mode, Generator* g);
void init_kaiming_normal(const Tensor& t, double gain, Fan mode, Generator* g);
void init_eye(const Tensor& t);
void init_dirac(const Tensor& t, int64_t groups);
void init_orthogonal(const Tensor& t, double gain, Generator* g);
void init_sparse(const Tensor& t, double sparsity, double std, Generator* g);
// As linear layers and convolutions begin: both uniform within 1 / sqrt(fan in of the weight).
void init_affine(const Tensor& weight, const Tensor& bias, Generator* g);

}  // namespace flambeau::nn
