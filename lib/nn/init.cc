// Initialisers: plain fills outside autograd, and the fans that the named ones scale by.
#include "nn/init.h"

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

}  // namespace flambeau::nn
