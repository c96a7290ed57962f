// Working memory of a host kernel for the length of a scope, from the cpu's caching allocator.
#pragma once
#include "device/runtime.h"

namespace flambeau {

class Scratch {
 public:
  explicit Scratch(size_t bytes) {
    if (bytes) memory_ = allocate(kCpu, bytes);
  }
  ~Scratch() {
    if (memory_.block) deallocate(memory_.block);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T> T* as() const { return static_cast<T*>(memory_.data); }

 private:
  Memory memory_;
};

}  // namespace flambeau
