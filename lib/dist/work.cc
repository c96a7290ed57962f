// See work.h.
#include "dist/work.h"

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "device/streams.h"
#include "engine/pass_time.h"

namespace flambeau::dist {

using Clock = std::chrono::steady_clock;

bool Work::done() {
  if (process_.left()) return over_;
  const std::lock_guard lock(mutex_);
  return over_;
}

int Work::source() const {
  if (process_.left()) return source_;
  const std::lock_guard lock(mutex_);
  return source_;
}

void Work::wait(std::optional<Millis> timeout) {
  const auto until = timeout ? Clock::now() + *timeout : Clock::time_point::max();
  const bool asks = asks_for_interrupts();
  if (process_.left()) {
    check(over_, Code::unsupported, "Work.wait: the collective goes on in the process that was ",
          "forked; wait for it there");
  } else {
    std::unique_lock lock(mutex_);
    std::optional<pass_time::Waiting> waiting;
    if (!over_) waiting.emplace();
    while (!over_) {
      const auto next = asks ? std::min(until, Clock::now() + kInterruptEvery) : until;
      if (next == Clock::time_point::max()) {
        ended_.wait(lock);
      } else if (ended_.wait_until(lock, next) == std::cv_status::timeout && !over_) {
        if (next == until)
          flambeau::fail(Code::collective_timeout, "Work.wait: the collective has not ended after ",
                         timeout->count() / 1000.0, " s; it goes on");
        lock.unlock();
        check_interrupt();
        lock.lock();
      }
    }
  }
  settle();
}

void Work::settle() {
  if (error_) std::rethrow_exception(error_);
  if (ready_) ready_->wait(current_stream(ready_->device()));
}

void Work::finish(std::optional<Event> ready, int source) {
  const std::lock_guard lock(mutex_);
  ready_ = std::move(ready);
  source_ = source;
  over_ = true;
  ended_.notify_all();
}

void Work::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  over_ = true;
  ended_.notify_all();
}

}  // namespace flambeau::dist
