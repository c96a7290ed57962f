// The source of the process, and which thread asks it. A source that is being asked is kept, so
// that it may be replaced meanwhile, by itself too.
#include "base/interrupt.h"

#include <mutex>
#include <thread>
#include <utility>

namespace flambeau {
namespace {

struct Place {
  std::mutex mutex;
  std::shared_ptr<InterruptSource> source;
  std::thread::id asks;
};
Place& place() {
  static Place& made = *new Place;  // leaked: threads may wait while statics are torn down
  return made;
}

std::shared_ptr<InterruptSource> source_of_this_thread() {
  Place& p = place();
  const std::lock_guard lock(p.mutex);
  return p.asks == std::this_thread::get_id() ? p.source : nullptr;
}

}  // namespace

void set_interrupt_source(std::shared_ptr<InterruptSource> source) {
  Place& p = place();
  const std::lock_guard lock(p.mutex);
  p.asks = source ? std::this_thread::get_id() : std::thread::id();
  std::swap(p.source, source);
}  // the one before ends after the lock, as a parameter

bool asks_for_interrupts() { return source_of_this_thread() != nullptr; }

void check_interrupt() {
  const auto source = source_of_this_thread();
  if (!source) return;
  ++t_interrupts;
  source->check();
  --t_interrupts;  // it goes on
}

}  // namespace flambeau
