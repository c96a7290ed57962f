// What a thread has chosen, as one value: its current device of each kind and its current stream on
// each device. Code of the program that runs inside the engine gets it back as it was.
#pragma once
#include <array>
#include <cstdint>

#include "device/limits.h"

namespace flambeau {

struct Current {
  Device cuda, sim;
  std::array<uint16_t, 2 * kMaxDevices> streams;
};

Current current_choice();
void restore_choice(const Current& before) noexcept;

}  // namespace flambeau
