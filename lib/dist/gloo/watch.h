// A deadline for what has none of its own in Gloo: a thread ends it. That thread sleeps from one
// deadline to the next, so that a call costs two locks that nobody else wants.
#pragma once
#include <gloo/common/error.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace flambeau::gloo_adaptor {

class Watch {
 public:
  using Clock = std::chrono::steady_clock;
  // `end` makes whatever is waited for fail. It is called once at most.
  explicit Watch(std::function<void()> end) : end_(std::move(end)) {}
  ~Watch();

  // Runs `f`; what fails by the deadline, or misses it, is a timeout. One at a time.
  template <class F> void within(Clock::time_point deadline, F f) {
    begin(deadline);
    try {
      f();
    } catch (...) {
      if (!finish()) throw;
    }
    if (finish()) throw ::gloo::IoException("timed out");
  }

 private:
  void begin(Clock::time_point deadline);
  bool finish();  // whether the deadline was missed
  void run();

  const std::function<void()> end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point deadline_ = Clock::time_point::max(), wakes_ = Clock::time_point::min();
  bool stopping_ = false, missed_ = false;
  std::thread thread_;
};

}  // namespace flambeau::gloo_adaptor
