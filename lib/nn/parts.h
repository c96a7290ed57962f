// What the files of layers share: parameters that train, torch's default initialisation, one input,
// and how options are printed.
#pragma once
#include <string>

#include "nn/module.h"
#include "ops/ops.h"

namespace flambeau::nn {

struct Made {  // where and in which dtype parameters are made
  Device device;
  Dtype dtype = Dtype::none;
};

Tensor trainable(Tensor t);
// Uniform within 1 / sqrt(fan in), as torch draws weights and biases by default.
Tensor drawn(DimsView sizes, int64_t fan_in, const Made& made);
Tensor filled(DimsView sizes, double value, const Made& made);

const Tensor& only(const Module& m, TensorsView inputs);

inline const char* truth(bool b) { return b ? "True" : "False"; }
std::string tuple_text(DimsView v);  // (3,) and (3, 3), as Python writes them

}  // namespace flambeau::nn
