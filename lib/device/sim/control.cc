// See control.h.
#include "device/sim/control.h"

#include "device/sim/arena.h"
#include "device/sim/machine.h"

namespace flambeau::sim {

void set_schedule(Schedule schedule, uint64_t seed) {
  Machine& machine = Machine::instance();
  auto lock = machine.lock();
  machine.set_schedule(lock, schedule, seed);
}

std::vector<std::string> races() {
  auto lock = Machine::instance().lock();
  return Machine::instance().all_races();
}

void clear_races() {
  auto lock = Machine::instance().lock();
  Machine::instance().clear_races();
}

void fail_launch(int device, int64_t n) {
  auto lock = Machine::instance().lock();
  Machine::instance().device(device).launches_until_fault = n;
}

void revive(int device) {
  Machine& machine = Machine::instance();
  auto lock = machine.lock();
  machine.finish_device(lock, device);
  machine.device(device) = {};
}

bool uses_protection_key() { return Arena::instance().key() >= 0; }

void set_capacity(int device, size_t bytes) { Arena::instance().set_capacity(device, bytes); }

}  // namespace flambeau::sim
