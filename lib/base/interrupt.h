// Whether the program wants a wait for other processes to end before it is over: Ctrl-C, of which
// some languages learn on one of their threads only, and only when that runs them. That thread asks
// now and then while it waits; no other ever does. What the source throws ends the wait, and
// nothing of what is waited for. It is asked with no lock held.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/thread_local.h"

namespace flambeau {

class InterruptSource {
 public:
  virtual ~InterruptSource() = default;
  virtual void check() = 0;
};

inline constexpr std::chrono::milliseconds kInterruptEvery{250};

// From now on the calling thread asks, and nobody else; null: nobody does.
void set_interrupt_source(std::shared_ptr<InterruptSource> source);
bool asks_for_interrupts();  // whether this thread is the one
void check_interrupt();
inline FLAM_THREAD_LOCAL uint64_t t_interrupts = 0;  // how many waits of this thread ended so

}  // namespace flambeau
