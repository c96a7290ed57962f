// What FLAMBEAU_SIM asks for:
// "devices=2,memory=256MiB,as=cuda,schedule=lazy,seed=1,kernels=emu,races=error,protection=key".
// Without it there are no simulated devices; with it one, or as many as it says. Read once, at the
// first question about devices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/device.h"

namespace flambeau::sim {

// eager: an operation runs when it is enqueued. lazy: nothing runs before someone must wait for it,
// and then only what they wait for. random: ready operations run at seeded moments in a seeded
// order. threads: each stream is a thread.
enum class Schedule : int8_t { eager, lazy, random, threads };

// What a race does: fail the next synchronisation, or only be listed, or nothing is checked.
enum class Races : int8_t { error, report, off };

// How the host is shut out of device memory: by a protection key where the processor has them, else
// by a second mapping. `any` takes the first that works.
enum class Protection : int8_t { any, key, mapping };

struct Config {
  int devices = 0;
  size_t memory = size_t(1) << 30;  // per device
  DeviceType answers_to = DeviceType::sim;
  Schedule schedule = Schedule::eager;
  uint64_t seed = 1;
  bool emulated_kernels = false;
  Races races = Races::error;
  Protection protection = Protection::any;
  std::string problem;  // why FLAMBEAU_SIM could not be used; devices is then 0
};

Config parse_config(std::string_view text);  // of a malformed text, a Config with `problem`
const Config& config();
// Instead of the environment; false once the configuration is in use.
bool configure(std::string_view text);

}  // namespace flambeau::sim
