// A stack that can be left in the middle of a function and entered again. A fiber belongs to the
// host thread that made it and always returns to that thread's own stack, so switching needs no
// lock.
#pragma once
#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace cuda_on_cpu {

class Fiber {
 public:
  // `entry` never returns: it calls leave() when it has nothing more to do, and goes on when
  // entered again.
  explicit Fiber(void (*entry)());
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  void enter();         // from the thread's own stack
  static void leave();  // from the fiber that runs
  void reset();         // forgets where it was: the next enter() starts `entry` anew

 private:
  static void first_entry();
  void switch_in();
  void switch_out();

  void (*entry_)();
  char* memory_;  // a guard page, then the stack
#if defined(__x86_64__)
  void* stack_pointer_ = nullptr;
  void* caller_ = nullptr;
#else
  ucontext_t context_, caller_;
#endif
  void* sanitizer_ = nullptr;  // what the sanitizers know this stack as
  void* sanitizer_caller_ = nullptr;
  const void* caller_bottom_ = nullptr;
  size_t caller_size_ = 0;
};

}  // namespace cuda_on_cpu
