// Lets the program's code run in the middle of an op or a gradient: what the thread says of the one
// that waits is put away meanwhile. Without this, an op of that code would ask the waiting gradient
// which slopes are wanted, and be labelled as its.
#pragma once
#include <utility>

#include "device/label.h"
#include "graph/node.h"
#include "graph/saved_hooks.h"

namespace flambeau {

class Interruption {
 public:
  Interruption() = default;
  Interruption(const Interruption&) = delete;
  ~Interruption() {
    current_node = node_;
    unpacked_values = unpacked_;
    t_label = label_;
  }

 private:
  Node* node_ = std::exchange(current_node, nullptr);
  UnpackedValues* unpacked_ = std::exchange(unpacked_values, nullptr);
  Label label_ = t_label;
};

}  // namespace flambeau
