// Ends waits of Gloo's without what their own deadline does, which is to break all connections.
// A thread of the communicator's rings where a wait has taken too long. While waits follow each
// other it wakes by itself now and then, so that none of them has to wake it.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace flambeau::gloo_adaptor {

class Alarms {
  using Clock = std::chrono::steady_clock;
  struct Entry {
    Clock::time_point at;
    std::function<void()> ring;
  };

 public:
  Alarms() = default;
  Alarms(const Alarms&) = delete;
  ~Alarms();

  // Rings once at its time, unless it is gone by then.
  class Alarm {
   public:
    Alarm(Alarms& owner, Clock::time_point at, std::function<void()> ring);
    Alarm(const Alarm&) = delete;
    ~Alarm();

   private:
    Alarms& owner_;
    std::list<Entry> own_;  // its node moves to the owner's list, and back
    std::list<Entry>::iterator entry_;
  };

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Entry> entries_;
  Clock::time_point wakes_ = Clock::time_point::max();
  bool used_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace flambeau::gloo_adaptor
