// What the files of layers share.
#include "nn/parts.h"

#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "nn/init.h"

namespace flambeau::nn {

Tensor uninitialized(DimsView sizes, const Made& made) {
  check(made.dtype == Dtype::none || is_floating(made.dtype), Code::dtype,
        "Only Tensors of floating point dtype can require gradients, got ", name_of(made.dtype));
  return ops::empty(sizes, made.dtype, made.device);
}

Tensor trainable(Tensor t) {
  autograd_data(t).requires_grad = true;
  return t;
}

Tensor drawn(DimsView sizes, int64_t fan_in, const Made& made) {
  const Tensor t = uninitialized(sizes, made);
  const double bound = fan_in > 0 ? 1 / std::sqrt(double(fan_in)) : 0;
  init_uniform(t, -bound, bound, nullptr);
  return trainable(t);
}

void set_affine(Module& m, DimsView weight_sizes, std::optional<int64_t> bias_size,
                const Made& made) {
  const Tensor weight = uninitialized(weight_sizes, made);
  const Tensor bias = bias_size ? uninitialized(Dims{*bias_size}, made) : Tensor();
  init_affine(weight, bias, nullptr);
  m.set_parameter("weight", trainable(weight));
  m.set_parameter("bias", bias ? trainable(bias) : bias);
}

Tensor filled(DimsView sizes, double value, const Made& made) {
  const Tensor t = uninitialized(sizes, made);
  init_constant(t, value);
  return trainable(t);
}

Dims each_of(const std::string& layer, const char* what, DimsView v, size_t spatial,
             int64_t fallback, int64_t least) {
  check(v.size() <= 1 || v.size() == spatial, Code::invalid_argument, layer, ": ", what,
        " takes one value or ", spatial, ", got ", v.size());
  const Dims out = v.size() == spatial ? Dims(v) : Dims(spatial, v.empty() ? fallback : v[0]);
  for (int64_t n : out) {
    check(n >= least, Code::invalid_argument, layer, ": ", what, " must be at least ", least,
          ", got ", ShapeText{out});
    check_extent(layer.c_str(), what, n);
  }
  return out;
}

const Tensor& only(const Module& m, TensorsView inputs) {
  check(inputs.size() == 1, Code::invalid_argument, m.type, " takes one input, got ",
        inputs.size());
  check_given(m, inputs[0], "input");
  return inputs[0];
}

void check_given(const Module& m, const Tensor& input, const char* name) {
  check(input.defined(), Code::invalid_argument, m.type, ": ", name,
        " is no tensor; only optional inputs can be left out");
}

void check_given(const Module& m, TensorsView inputs, std::initializer_list<const char*> needed) {
  size_t i = 0;
  for (const char* name : needed) check_given(m, at_or_none(inputs, i++), name);
}

Tensor at_or_none(TensorsView inputs, size_t i) { return i < inputs.size() ? inputs[i] : Tensor(); }

std::string tuple_text(DimsView v) {
  std::string s = "(";
  for (size_t i = 0; i < v.size(); ++i) s += cat_text(i ? ", " : "", v[i]);
  return s + (v.size() == 1 ? ",)" : ")");
}

}  // namespace flambeau::nn
