// When operations run. A schedule may pick any order that the streams and events allow; correct
// programs give the same results under all of them.
#include <algorithm>

#include "device/sim/machine.h"

namespace flambeau::sim {

// Runs `s` up to `position`, and of other streams only what it waits for.
void Machine::advance(Lock& lock, SimStream* s, uint64_t position) {
  while (s->finished < position) {
    if (s->busy) {
      changed_.wait(lock);
      continue;
    }
    const MarkerRef wait = s->queue.front().wait;
    if (wait && !wait->done)
      advance(lock, wait->stream, wait->position);
    else
      run_head(lock, s);
  }
}

bool Machine::step_at_random(Lock& lock) {
  std::vector<SimStream*> candidates;
  for (const auto& s : streams_)
    if (ready(*s)) candidates.push_back(s.get());
  if (candidates.empty()) return false;
  run_head(lock, candidates[random_() % candidates.size()]);
  return true;
}

void Machine::advance_at_random(Lock& lock, SimStream* s, uint64_t position) {
  while (s->finished < position)
    if (!step_at_random(lock)) changed_.wait(lock);  // another thread runs what is left
}

void Machine::run_until(Lock& lock, SimStream* s, uint64_t position) {
  switch (schedule_) {
    case Schedule::eager:
    case Schedule::lazy:
      return advance(lock, s, position);
    case Schedule::random:
      return advance_at_random(lock, s, position);
    case Schedule::threads:
      return changed_.wait(lock, [&] { return s->finished >= position; });
  }
}

// The host learns of what was enqueued when it began to wait, not of what other threads add
// meanwhile.
void Machine::finish(Lock& lock, SimStream* s, uint64_t position) {
  const Clock known = s->clock;
  run_until(lock, s, position);
  host_.join(known);
}

void Machine::finish_device(Lock& lock, int device) {
  for (size_t i = 0; i < streams_.size(); ++i)
    if (streams_[i]->device == device) finish(lock, streams_[i].get(), streams_[i]->enqueued);
}

void Machine::finish_marker(Lock& lock, const MarkerRef& marker) {
  if (!marker) return;
  run_until(lock, marker->stream, marker->position);
  host_.join(marker->clock);
}

// A poll that only ever said "not yet" would hang a waiting loop under the lazy schedule: it runs
// one step.
void Machine::step_towards(Lock& lock, SimStream* s) {
  if (schedule_ == Schedule::random) {
    step_at_random(lock);
  } else if (schedule_ != Schedule::threads) {
    while (!s->busy && !s->queue.empty() && s->queue.front().wait && !s->queue.front().wait->done)
      s = s->queue.front().wait->stream;
    if (ready(*s)) run_head(lock, s);
  }
}

bool Machine::poll(Lock& lock, SimStream* s) {
  if (s->finished == s->enqueued) return host_.join(s->clock), true;
  step_towards(lock, s);
  return false;
}

bool Machine::poll_marker(Lock& lock, const MarkerRef& marker) {
  if (!marker) return true;
  if (marker->done) return host_.join(marker->clock), true;
  step_towards(lock, marker->stream);
  return false;
}

void Machine::start_worker(SimStream* s) {
  if (!s->worker.joinable()) s->worker = std::thread([this, s] { serve(s); });
  changed_.notify_all();
}

// Workers end with the process: the machine is never destroyed.
void Machine::serve(SimStream* s) {
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return schedule_ == Schedule::threads && ready(*s); });
    run_head(lock, s);
  }
}

void Machine::set_schedule(Lock& lock, Schedule schedule, uint64_t seed) {
  for (size_t i = 0; i < streams_.size(); ++i)
    finish(lock, streams_[i].get(), streams_[i]->enqueued);
  schedule_ = schedule;
  random_.seed(seed);
}

}  // namespace flambeau::sim
