// See work.h.
#include "dist/work.h"

#include "base/error.h"
#include "device/streams.h"
#include "engine/pass_time.h"

namespace flambeau::dist {

bool Work::done() {
  const std::lock_guard lock(mutex_);
  return over_;
}

int Work::source() const {
  const std::lock_guard lock(mutex_);
  return source_;
}

void Work::wait(std::optional<Millis> timeout) {
  if (process_.left()) {
    check(over_, Code::unsupported, "Work.wait: the collective goes on in the process that was ",
          "forked; wait for it there");
  } else {
    std::unique_lock lock(mutex_);
    const auto over = [this] { return over_; };
    std::optional<pass_time::Waiting> waiting;
    if (!over_) waiting.emplace();
    if (!timeout) {
      ended_.wait(lock, over);
    } else if (!ended_.wait_for(lock, *timeout, over)) {
      flambeau::fail(Code::collective_timeout, "Work.wait: the collective has not ended after ",
                     timeout->count() / 1000.0, " s; it goes on");
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
