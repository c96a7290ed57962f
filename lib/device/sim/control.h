// Handles for tests of code that runs on simulated devices: the schedule, faults, races and
// capacity.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/sim_config.h"

namespace flambeau::sim {

void set_schedule(Schedule schedule, uint64_t seed = 1);  // first finishes all work
std::vector<std::string> races();  // found since the last clear, reported or not
void clear_races();
void fail_launch(int device, int64_t n);  // the n-th kernel from now fails, asynchronously
void revive(int device);  // takes a sticky fault away, as a restart of the process would
void set_capacity(int device, size_t bytes);  // at most the configured memory
// Where a host access to device memory is named before its fault takes its course; -1: nowhere.
void report_host_access_to(int file_descriptor);
bool uses_protection_key();

}  // namespace flambeau::sim
