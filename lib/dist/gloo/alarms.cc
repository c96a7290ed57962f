// See alarms.h.
#include "dist/gloo/alarms.h"

#include <algorithm>
#include <utility>

namespace flambeau::gloo_adaptor {
namespace {

constexpr std::chrono::milliseconds kTick{250};

}  // namespace

Alarms::~Alarms() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Alarms::Alarm::Alarm(Alarms& owner, Clock::time_point at, std::function<void()> ring)
    : owner_(owner) {
  own_.push_back({at, std::move(ring)});
  entry_ = own_.begin();
  const std::lock_guard lock(owner_.mutex_);
  // First: where the system gives no thread, nothing is left to ring.
  if (!owner_.thread_.joinable()) owner_.thread_ = std::thread([&owner] { owner.work(); });
  owner_.entries_.splice(owner_.entries_.end(), own_);
  owner_.used_ = true;
  if (at < owner_.wakes_) owner_.changed_.notify_all();
}

Alarms::Alarm::~Alarm() {
  const std::lock_guard lock(owner_.mutex_);
  own_.splice(own_.end(), owner_.entries_, entry_);
}

void Alarms::work() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const auto now = Clock::now();
    wakes_ =
        std::exchange(used_, false) || !entries_.empty() ? now + kTick : Clock::time_point::max();
    for (Entry& entry : entries_) {
      if (entry.at > now) {
        wakes_ = std::min(wakes_, entry.at);
      } else if (entry.ring) {
        entry.ring();
        entry.ring = nullptr;
      }
    }
    if (wakes_ == Clock::time_point::max())
      changed_.wait(lock);
    else
      changed_.wait_until(lock, wakes_);
  }
}

}  // namespace flambeau::gloo_adaptor
