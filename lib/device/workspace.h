// Memory that a vendor's library works in for the duration of one enqueue. The stream's order makes
// it free for the stream's next use right afterwards, so it is kept for the next such call, which
// then asks no list of the allocator.
#pragma once
#include "device/runtime.h"

namespace flambeau {

class Workspace {
 public:
  // For work on `s`, this thread's current stream. `label` names it to who asks what memory is for.
  Workspace(Stream s, size_t bytes, const char* label);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const { return memory_.data; }

 private:
  Memory memory_;
  bool keeps_;
};

}  // namespace flambeau
