// An operation as a module: the options are in the function, optional operands are buffers. The
// generator makes one of each operation that the headers mark FLAM_LAYER (gen/layers.cc).
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/module.h"

namespace flambeau::nn {

struct OpLayerText {
  std::string type;                                       // the class, as it prints
  std::string extra;                                      // the options, as they print
  std::vector<const char*> inputs;                        // names of what a call takes
  std::vector<std::pair<const char*, Tensor>> buffers{};  // undefined ones reserve the name
};

using OpForward = std::function<Tensor(const Module&, TensorsView)>;

Ref<Module> op_layer(OpLayerText text, OpForward forward);

// As Python writes them: 1.0, True, 2 for a list of one number, (2, 3), None.
std::string python_text(double v);
std::string python_text(int64_t v);
std::string python_text(bool v);
std::string python_text(DimsView v);
std::string python_text(std::span<const double> v);
template <class T> std::string python_text(const std::optional<T>& v) {
  return v ? python_text(*v) : "None";
}

}  // namespace flambeau::nn
