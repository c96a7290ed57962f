// Lets the program's code run in the middle of an op or a gradient: what belongs to the one that
// waits is put aside meanwhile. Without this, an op of that code could take the waiting one's
// destination for its own.
#pragma once
#include "device/label.h"
#include "graph/saved_hooks.h"
#include "ops/into.h"

namespace flambeau {

class Aside {
 public:
  Aside() = default;
  Aside(const Aside&) = delete;
  ~Aside() {
    pending_into = into_;
    current_node = node_;
    unpacked_values = unpacked_;
    t_label = label_;
  }

 private:
  Into* into_ = std::exchange(pending_into, nullptr);
  Node* node_ = std::exchange(current_node, nullptr);
  UnpackedValues* unpacked_ = std::exchange(unpacked_values, nullptr);
  Label label_ = t_label;
};

}  // namespace flambeau
