// Enqueuing, events and faults of the simulated machine; the schedules are in schedule.cc.
#include "device/sim/machine.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "device/fault.h"
#include "device/sim/guard.h"

namespace flambeau::sim {

Machine& Machine::instance() {
  static Machine& machine = *new Machine;
  return machine;
}

Machine::Machine()
    : devices_(size_t(config().devices)), schedule_(config().schedule), random_(config().seed) {
  for (int i = 0; i < config().devices; ++i) defaults_.push_back(add_stream(i));
}

SimStream* Machine::stream(int device, void* native) {
  return native ? static_cast<SimStream*>(native) : defaults_[size_t(device)];
}

SimStream* Machine::add_stream(int device) {
  auto s = std::make_unique<SimStream>();
  s->device = device;
  s->number = uint32_t(streams_.size()) + 1;
  const int among = int(std::count_if(streams_.begin(), streams_.end(),
                                      [&](const auto& other) { return other->device == device; }));
  s->name =
      cat_text("stream ", among, " of ", to_string(Device{config().answers_to, int16_t(device)}));
  streams_.push_back(std::move(s));
  return streams_.back().get();
}

// The stream stays as an empty queue: markers and the checker refer to it.
void Machine::remove_stream(Lock& lock, SimStream* s) { finish(lock, s, s->enqueued); }

void Machine::enqueue(Lock& lock, SimStream* s, Operation op, Touching kind) {
  if (s->capture) {
    s->captured.tick(s->number);
    return s->capture->operations.push_back(std::move(op));
  }
  if (tracing_) {
    op.launch = t_launch;
    op.asked_ns = steady_ns();
  }
  s->clock.join(host_);
  s->clock.tick(s->number);
  if (config().races != Races::off) {
    const size_t known = races_.size();
    for (const Access& a : op.accesses)
      checker_.touch({s->number, &s->clock, s->name}, op.name, kind, a, races_);
    if (config().races == Races::error)
      unreported_.insert(unreported_.end(), races_.begin() + ptrdiff_t(known), races_.end());
  }
  s->queue.push_back(std::move(op));
  ++s->enqueued;
  switch (schedule_) {
    case Schedule::eager:
      advance(lock, s, s->enqueued);
      break;
    case Schedule::lazy:
      break;
    case Schedule::random:
      while (random_() % 2 && step_at_random(lock)) {
      }
      break;
    case Schedule::threads:
      start_worker(s);
      break;
  }
}

void Machine::record(Lock& lock, SimStream* s, SimEvent* e) {
  e->capture = s->capture;
  e->captured = s->captured;
  if (s->capture) return;
  auto marker = std::make_shared<Marker>();
  marker->stream = s;
  marker->position = s->enqueued + 1;
  s->clock.join(host_);
  marker->clock = s->clock;
  e->latest = marker;
  Operation op;
  op.name = "event record";
  op.record = marker;
  enqueue(lock, s, std::move(op));
}

void Machine::wait(Lock& lock, SimStream* s, const MarkerRef& marker) {
  if (!marker) return;
  s->clock.join(marker->clock);
  Operation op;
  op.name = "event wait";
  op.wait = marker;
  enqueue(lock, s, std::move(op));
}

bool Machine::ready(const SimStream& s) const {
  return !s.busy && !s.queue.empty() && (!s.queue.front().wait || s.queue.front().wait->done);
}

bool Machine::busy(int device) const {
  return std::ranges::any_of(streams_, [&](const std::unique_ptr<SimStream>& s) {
    return s->device == device && (s->busy || !s->queue.empty());
  });
}

// Takes the head off its queue and runs it without the lock; `busy` keeps the stream's order.
void Machine::run_head(Lock& lock, SimStream* s) {
  Operation op = std::move(s->queue.front());
  s->queue.pop_front();
  s->busy = true;
  DeviceState& device = devices_[size_t(s->device)];
  const bool lost = !device.fault.empty();
  std::string fault;
  if (op.work && !lost) {
    if (op.is_kernel && device.launches_until_fault > 0 && --device.launches_until_fault == 0)
      fault = cat_text("kernel \"", op.name, "\" failed (injected)");
    lock.unlock();
    if (fault.empty()) {
      const fault::Exempt exempt;  // a kernel's scratch stands for a GPU's own memory
      fault = run_guarded(op.name, op.work);
    }
    op.work = nullptr;  // frees what it holds outside of the lock
    lock.lock();
  }
  if (op.wait) s->time = std::max(s->time, op.wait->time);
  s->time += op.microseconds;
  if (tracing_ && op.asked_ns && !lost) trace(s, op);
  if (!fault.empty() && device.fault.empty()) {
    fault.insert(std::min(fault.find('\n'), fault.size()), " on " + s->name);  // facts follow
    device.fault = std::move(fault);
  }
  if (op.record) {
    op.record->done = true;
    op.record->time = s->time;
  }
  ++s->finished;
  s->busy = false;
  changed_.notify_all();
}

bool Machine::start_trace() {
  if (tracing_) return false;
  trace_ = {};
  return tracing_ = true;
}

Activities Machine::take_trace() { return std::exchange(trace_, {}); }

void Machine::trace(SimStream* s, const Operation& op) {
  const int64_t after = std::max(s->traced_ns, op.wait ? op.wait->traced_ns : 0);
  const int64_t begin = std::max(after, op.asked_ns);
  s->traced_ns = !op.traced ? after : begin + int64_t(op.microseconds * 1e3);
  if (op.record) op.record->traced_ns = s->traced_ns;
  if (!op.traced) return;
  const Device device{config().answers_to, int16_t(s->device)};
  try {
    trace_.all.push_back({op.kind, op.traced, device, s->number, begin, s->traced_ns, op.launch});
  } catch (const std::bad_alloc&) {  // on a worker nobody would take it
    ++trace_.lost;
  }
}

bool Machine::show_fault(int index) {
  DeviceState& d = device(index);
  if (!d.fault.empty()) d.shown = true;
  return d.shown;
}

std::string Machine::take_races() {
  std::string text;
  for (const std::string& race : std::exchange(unreported_, {}))
    text += (text.empty() ? "" : "\n") + race;
  return text;
}

}  // namespace flambeau::sim
