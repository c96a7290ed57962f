// What the files of layers share.
#include "nn/parts.h"

#include <cmath>

#include "base/error.h"
#include "nn/init.h"

namespace flambeau::nn {

Tensor trainable(Tensor t) {
  autograd_data(t).requires_grad = true;
  return t;
}

Tensor drawn(DimsView sizes, int64_t fan_in, const Made& made) {
  const Tensor t = ops::empty(sizes, made.dtype, made.device);
  const double bound = fan_in > 0 ? 1 / std::sqrt(double(fan_in)) : 0;
  init_uniform(t, -bound, bound, nullptr);
  return trainable(t);
}

Tensor filled(DimsView sizes, double value, const Made& made) {
  const Tensor t = ops::empty(sizes, made.dtype, made.device);
  init_constant(t, value);
  return trainable(t);
}

const Tensor& only(const Module& m, TensorsView inputs) {
  check(inputs.size() == 1, Code::invalid_argument, m.type, " takes one input, got ",
        inputs.size());
  return inputs[0];
}

std::string tuple_text(DimsView v) {
  std::string s = "(";
  for (size_t i = 0; i < v.size(); ++i) s += cat_text(i ? ", " : "", v[i]);
  return s + (v.size() == 1 ? ",)" : ")");
}

}  // namespace flambeau::nn
