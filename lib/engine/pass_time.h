// How long threads of this process have computed gradients so far, the time left out in which they
// wait for other ranks: communication that went on meanwhile was hidden behind backward. Until
// somebody wants to know, a pass pays for one test.
#pragma once
#include <cstdint>

namespace flambeau::pass_time {

void want() noexcept;  // passes that begin from now on count
// Nanoseconds up to `now` in which at least one thread was in a pass and did not wait.
int64_t so_far(int64_t now_ns) noexcept;

// While it lives this thread is in a pass; one within another is a part of that.
class Pass {
 public:
  Pass() noexcept;
  ~Pass();
  Pass(const Pass&) = delete;

 private:
  const bool counts_;
};

// While it lives this thread waits, whether it is in a pass or not.
class Waiting {
 public:
  Waiting() noexcept;
  ~Waiting();
  Waiting(const Waiting&) = delete;

 private:
  const bool counts_;
};

}  // namespace flambeau::pass_time
