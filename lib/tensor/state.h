// Named tensors in order: what state dicts and weight files are made of. Tensors lie side by side
// without their names, so that C hands them on as the array that optimizers and clipping take.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace flambeau {

class NamedTensors {
 public:
  using Entry = std::pair<const std::string&, const Tensor&>;
  struct Iterator {
    const NamedTensors* of;
    size_t index;
    Entry operator*() const { return (*of)[index]; }
    Iterator& operator++() { return ++index, *this; }
    bool operator==(const Iterator&) const = default;
  };

  Entry operator[](size_t index) const { return {names_[index], tensors_[index]}; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }
  size_t size() const { return tensors_.size(); }
  bool empty() const { return tensors_.empty(); }
  const std::vector<Tensor>& tensors() const { return tensors_; }

  void emplace_back(std::string name, Tensor tensor) {
    names_.push_back(std::move(name));
    try {
      tensors_.push_back(std::move(tensor));
    } catch (...) {  // both, or neither
      names_.pop_back();
      throw;
    }
  }
  void replace(size_t index, Tensor tensor) { tensors_[index] = std::move(tensor); }

 private:
  std::vector<std::string> names_;
  std::vector<Tensor> tensors_;
};

}  // namespace flambeau

// The ABI's opaque type, hence outside the namespace.
struct flam_state final : flambeau::RefCounted {
  flambeau::NamedTensors entries;

  const flambeau::Tensor* find(std::string_view name) const {
    for (const auto& [n, t] : entries) {
      if (n == name) return &t;
    }
    return nullptr;
  }
  void set(std::string_view name, flambeau::Tensor tensor) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].first == name) return entries.replace(i, std::move(tensor));
    }
    entries.emplace_back(std::string(name), std::move(tensor));
  }
};

namespace flambeau {
using State = ::flam_state;
}
