// Named tensors in order: what state dicts and weight files are made of.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

// The ABI's opaque type, hence outside the namespace.
struct flam_state final : flambeau::RefCounted {
  std::vector<std::pair<std::string, flambeau::Tensor>> entries;

  const flambeau::Tensor* find(std::string_view name) const {
    for (const auto& [n, t] : entries) {
      if (n == name) return &t;
    }
    return nullptr;
  }
  void set(std::string_view name, flambeau::Tensor tensor) {
    for (auto& [n, t] : entries) {
      if (n == name) {
        t = std::move(tensor);
        return;
      }
    }
    entries.emplace_back(std::string(name), std::move(tensor));
  }
};

namespace flambeau {
using State = ::flam_state;
}
