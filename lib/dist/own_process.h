// Whether this process is a child that was forked since an object was made. Threads and connections
// stayed in its parent, and locks are as threads left them that are not here: what needs them says
// so, and what holds them is never destroyed. Forks are counted, because to ask the system for the
// process's number costs a part of a small collective.
#pragma once
#include <atomic>
#include <cstdint>

namespace flambeau::dist {

class OwnProcess {
 public:
  OwnProcess() : forks_(count_forks().load(std::memory_order_relaxed)) {}
  bool left() const { return forks_ != count_forks().load(std::memory_order_relaxed); }

 private:
  static const std::atomic<uint32_t>& count_forks();  // from the first call on

  const uint32_t forks_;
};

}  // namespace flambeau::dist
