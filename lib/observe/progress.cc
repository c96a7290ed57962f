// Counting, timing, and asking the sinks; see progress.h.
#include "observe/progress.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "device/runtime.h"
#include "device/stats.h"

flam_progress::flam_progress(int64_t total, std::string_view unit)
    : begun_ns_(flambeau::steady_ns()) {
  flambeau::check(total >= 0, flambeau::Code::invalid_argument, "progress: the total is ", total,
                  "; give what is to be done, or 0 where that is not known");
  state_.total = total;
  state_.unit = unit;
}

double flam_progress::elapsed() const {
  return ended_ >= 0 ? ended_ : double(flambeau::steady_ns() - begun_ns_) / 1e9;
}

void flam_progress::add(std::unique_ptr<flambeau::observe::ProgressSink> sink) {
  std::lock_guard lock(mutex_);
  sinks_.push_back({std::move(sink)});
  sinks_.back().next = sinks_.back().sink->interval();
  next_ = sinks_.size() == 1 ? sinks_[0].next : std::min(next_, sinks_.back().next);
}

void flam_progress::watch(flambeau::Device device) {
  const flambeau::Device found = flambeau::resolve(device);
  std::lock_guard lock(mutex_);
  device_ = found;
}

bool flam_progress::advance(int64_t n) {
  std::lock_guard lock(mutex_);
  state_.done += n;
  return !sinks_.empty() && ended_ < 0 && (elapsed() >= next_ || state_.done == state_.total);
}

void flam_progress::set(std::string_view name, double value) {
  std::lock_guard lock(mutex_);
  auto& values = state_.values;
  const auto found = std::ranges::find(values, name, [](const auto& v) { return v.first; });
  if (found != values.end())
    found->second = value;
  else
    values.emplace_back(name, value);
}

flambeau::observe::ProgressState flam_progress::now() const {
  flambeau::observe::ProgressState s = state_;
  s.elapsed = elapsed();
  s.rate = s.elapsed > 0 ? double(s.done) / s.elapsed : 0;
  if (s.total > 0 && s.done > 0) s.left = double(std::max<int64_t>(s.total - s.done, 0)) / s.rate;
  if (device_) s.memory = flambeau::memory_stats(device_).allocated_bytes.of[0].current;
  return s;
}

flambeau::observe::ProgressState flam_progress::state() const {
  std::lock_guard lock(mutex_);
  return now();
}

// Sinks are called without the lock: one that is a program's function may ask for the state. They
// are only added, and live as long as this.
template <class F> void flam_progress::each(F&& f) {
  std::vector<flambeau::observe::ProgressSink*> all;
  flambeau::observe::ProgressState s;
  {
    std::lock_guard lock(mutex_);
    s = now();
    for (const Sink& k : sinks_) all.push_back(k.sink.get());
  }
  for (flambeau::observe::ProgressSink* sink : all) f(*sink, s);
}

void flam_progress::draw() {
  std::vector<flambeau::observe::ProgressSink*> due;
  flambeau::observe::ProgressState s;
  {
    std::lock_guard lock(mutex_);
    if (ended_ >= 0) return;
    s = now();
    const bool complete = s.done == s.total;
    next_ = sinks_.empty() ? 0 : s.elapsed + sinks_[0].sink->interval();
    for (Sink& k : sinks_) {
      if (s.elapsed >= k.next || complete) {
        due.push_back(k.sink.get());
        k.next = s.elapsed + k.sink->interval();
      }
      next_ = std::min(next_, k.next);
    }
  }
  for (flambeau::observe::ProgressSink* sink : due) sink->draw(s);
}

void flam_progress::say(std::string_view text) {
  each([&](auto& sink, const auto& s) { sink.say(s, text); });
}

void flam_progress::finish() {
  {
    std::lock_guard lock(mutex_);
    if (ended_ >= 0) return;
    ended_ = elapsed();
  }
  each([](auto& sink, const auto& s) { sink.finish(s); });
}
