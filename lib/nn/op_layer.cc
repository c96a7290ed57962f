// An operation as a module.
#include "nn/op_layer.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "nn/parts.h"

namespace flambeau::nn {

namespace {

class OpLayer final : public Module {
 public:
  OpLayer(OpLayerText text, OpForward forward)
      : Module(std::move(text.type)),
        extra_(std::move(text.extra)),
        inputs_(std::move(text.inputs)),
        forward_(std::move(forward)) {
    for (auto& [name, tensor] : text.buffers) set_buffer(name, std::move(tensor));
  }
  Tensor forward(TensorsView inputs) override {
    check(inputs.size() == inputs_.size(), Code::invalid_argument, type, " takes ", listed(),
          "; got ", inputs.size(), inputs.size() == 1 ? " tensor" : " tensors");
    for (size_t i = 0; i < inputs.size(); ++i) check_given(*this, inputs[i], inputs_[i]);
    return forward_(*this, inputs);
  }
  std::string extra_repr() const override { return extra_; }
  bool joins(Epilogue& e) const override { return type == "ReLU" && !std::exchange(e.relu, true); }

 private:
  std::string listed() const {
    std::string s;
    for (size_t i = 0; i < inputs_.size(); ++i) s += cat_text(i ? ", " : "", inputs_[i]);
    return s;
  }

  std::string extra_;
  std::vector<const char*> inputs_;
  OpForward forward_;
};

template <class T> std::string each(std::span<const T> v) {
  if (v.empty()) return "None";
  if (v.size() == 1) return python_text(v[0]);
  std::string s = "(";
  for (size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + python_text(v[i]);
  return s + ")";
}

}  // namespace

Ref<Module> op_layer(OpLayerText text, OpForward forward) {
  return make_ref<OpLayer>(std::move(text), std::move(forward));
}

std::string python_text(double v) {
  const std::string s = cat_text(v);
  return std::isfinite(v) && s.find_first_of(".e") == s.npos ? s + ".0" : s;
}
std::string python_text(int64_t v) { return std::to_string(v); }
std::string python_text(bool v) { return v ? "True" : "False"; }
std::string python_text(DimsView v) { return each(std::span<const int64_t>(v.data(), v.size())); }
std::string python_text(std::span<const double> v) { return each(v); }

}  // namespace flambeau::nn
