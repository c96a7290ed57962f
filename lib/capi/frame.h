// A frame of handles: one that the program pushed, which frame.cc owns, or one that lasts as long
// as a callback, on the stack of the thread that calls back.
#pragma once
#include <vector>

#include "base/ref.h"

namespace flambeau::capi {

struct Frame {
  std::vector<RefCounted*> handles;
  Frame* outer = nullptr;
  bool of_callback = false;

  void release_all(const char* by) noexcept;
};

}  // namespace flambeau::capi
