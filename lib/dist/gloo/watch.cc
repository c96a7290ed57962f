// See watch.h.
#include "dist/gloo/watch.h"

namespace flambeau::gloo_adaptor {

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Watch::begin(Clock::time_point deadline) {
  const std::lock_guard lock(mutex_);
  deadline_ = deadline;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  if (deadline_ < wakes_) changed_.notify_one();
}

bool Watch::finish() {
  const std::lock_guard lock(mutex_);
  deadline_ = Clock::time_point::max();
  return missed_;
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (deadline_ <= Clock::now()) {
      missed_ = true;
      lock.unlock();
      return end_();
    }
    wakes_ = deadline_;
    if (wakes_ == Clock::time_point::max())
      changed_.wait(lock);
    else
      changed_.wait_until(lock, wakes_);
  }
}

}  // namespace flambeau::gloo_adaptor
