// What the files of layers share: parameters that train, torch's default initialisation, one input,
// and how options are printed.
#pragma once
#include <optional>
#include <string>

#include "nn/module.h"
#include "ops/ops.h"

namespace flambeau::nn {

struct Made {  // where and in which dtype parameters are made
  Device device;
  Dtype dtype = Dtype::none;
};

// Without values; throws where parameters cannot have the dtype.
Tensor uninitialized(DimsView sizes, const Made& made);
Tensor trainable(Tensor t);
// Uniform within 1 / sqrt(fan in), where that is no matter of the sizes.
Tensor drawn(DimsView sizes, int64_t fan_in, const Made& made);
// Registers `weight` and, where `bias_size` is given, `bias`, as linear layers and convolutions
// begin.
void set_affine(Module& m, DimsView weight_sizes, std::optional<int64_t> bias_size,
                const Made& made);
Tensor filled(DimsView sizes, double value, const Made& made);

// A number for each of `spatial` dimensions, where one stands for all and none for `fallback`.
Dims each_of(const std::string& layer, const char* what, DimsView v, size_t spatial,
             int64_t fallback, int64_t least);

const Tensor& only(const Module& m, TensorsView inputs);
// The first inputs under these names, which are no optional ones: throws for one that is none.
void check_given(const Module& m, TensorsView inputs, std::initializer_list<const char*> needed);
void check_given(const Module& m, const Tensor& input, const char* name);
// An optional input: undefined where a call leaves it out.
Tensor at_or_none(TensorsView inputs, size_t i);

inline const char* truth(bool b) { return b ? "True" : "False"; }
std::string tuple_text(DimsView v);  // (3,) and (3, 3), as Python writes them

}  // namespace flambeau::nn
