// Initialisers: plain fills outside autograd, and the scales by which the named ones draw.
#include "nn/init.h"

#include <cmath>

#include "base/error.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau::nn {

Fans fans(const Tensor& w) {
  check(w.dim() >= 2, Code::shape,
        "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, got ", w);
  int64_t field = 1;  // elements of a kernel's window
  for (int64_t d = 2; d < w.dim(); ++d) field *= w.size(d);
  return {w.size(1) * field, w.size(0) * field};
}

double gain_of(Nonlinearity kind, std::optional<double> param) {
  switch (kind) {
    case Nonlinearity::linear:
      return 1;
    case Nonlinearity::tanh:
      return 5.0 / 3;
    case Nonlinearity::relu:
      return std::sqrt(2.0);
    case Nonlinearity::leaky_relu: {
      const double slope = param.value_or(0.01);
      return std::sqrt(2.0 / (1 + slope * slope));
    }
    case Nonlinearity::selu:
      return 3.0 / 4;
    default:
      fail(Code::invalid_argument, "unknown nonlinearity ", int(kind));
  }
}

namespace {

double xavier_std(const Tensor& t, double gain) {
  const Fans f = fans(t);
  return f.in + f.out ? gain * std::sqrt(2 / double(f.in + f.out)) : 0;
}

double kaiming_std(const Tensor& t, double gain, Fan mode) {
  check(mode == Fan::in || mode == Fan::out, Code::invalid_argument, "unknown fan ", int(mode));
  const Fans f = fans(t);
  const int64_t fan = mode == Fan::in ? f.in : f.out;
  return fan ? gain / std::sqrt(double(fan)) : 0;
}

// A uniform distribution within +-b has the standard deviation b / sqrt(3).
void uniform_of_std(const Tensor& t, double std, Generator* g) {
  const double bound = std::sqrt(3.0) * std;
  init_uniform(t, -bound, bound, g);
}

}  // namespace

void init_constant(const Tensor& t, double value) {
  GradMode no_grad(false);
  ops::fill_(t, wrapped_number(value));
}

void init_uniform(const Tensor& t, double a, double b, Generator* g) {
  GradMode no_grad(false);
  ops::uniform_(t, a, b, g);
}

void init_normal(const Tensor& t, double mean, double std, Generator* g) {
  GradMode no_grad(false);
  ops::normal_(t, mean, std, g);
}

void init_xavier_uniform(const Tensor& t, double gain, Generator* g) {
  uniform_of_std(t, xavier_std(t, gain), g);
}
void init_xavier_normal(const Tensor& t, double gain, Generator* g) {
  init_normal(t, 0, xavier_std(t, gain), g);
}
void init_kaiming_uniform(const Tensor& t, double gain, Fan mode, Generator* g) {
  uniform_of_std(t, kaiming_std(t, gain, mode), g);
}
void init_kaiming_normal(const Tensor& t, double gain, Fan mode, Generator* g) {
  init_normal(t, 0, kaiming_std(t, gain, mode), g);
}

void init_affine(const Tensor& weight, const Tensor& bias, Generator* g) {
  const int64_t fan = fans(weight).in;
  const double bound = fan > 0 ? 1 / std::sqrt(double(fan)) : 0;
  init_uniform(weight, -bound, bound, g);
  if (bias) init_uniform(bias, -bound, bound, g);
}

}  // namespace flambeau::nn
