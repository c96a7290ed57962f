// The source of the process, and which thread asks it. A source that is being asked is kept, so
// that it may be replaced meanwhile, by itself too.
#include "base/interrupt.h"

#include <mutex>
#include <utility>

namespace flambeau {
namespace {

struct Place {
  std::mutex mutex;
  std::shared_ptr<InterruptSource> source;
  uint64_t setting = 0;  // counts them
};
Place& place() {
  static Place& made = *new Place;  // leaked: threads may wait while statics are torn down
  return made;
}

FLAM_THREAD_LOCAL uint64_t t_setting = 0;  // that which this thread made

// Other threads take no lock, which a forked child may find taken.
std::shared_ptr<InterruptSource> source_of_this_thread() {
  if (!t_setting) return nullptr;
  Place& p = place();
  const std::lock_guard lock(p.mutex);
  return p.setting == t_setting ? p.source : nullptr;
}

}  // namespace

void set_interrupt_source(std::shared_ptr<InterruptSource> source) {
  Place& p = place();
  const std::lock_guard lock(p.mutex);
  t_setting = ++p.setting;
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
