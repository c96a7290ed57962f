// Why a device waits: how much of a profile's steps it was idle, and what the host did meanwhile.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "observe/profile.h"

namespace flambeau::observe {

// Microseconds in which a device had no work, by what the host did: it fetched a batch; it had just
// waited for the device, which therefore ran dry; or it was not as fast as the device.
struct Idle {
  double input = 0, synchronization = 0, launches = 0;
  double sum() const { return input + synchronization + launches; }
};

struct DeviceIdle {
  Device device;
  Idle idle;
};

struct StepReport {
  int64_t steps = 0;     // 0: the profile names none
  double length_us = 0;  // of all the steps; of the whole profile where none are named
  std::vector<DeviceIdle> devices;
};

StepReport step_report(const flam_profile& profile);
std::string step_report_text(const flam_profile& profile);  // and the switches that help

}  // namespace flambeau::observe
