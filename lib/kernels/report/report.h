// Indices that are out of range. Host code throws at once. A launch on a device cannot: its kernel
// puts the first bad index into a word of page-locked memory and goes on with index 0, and whoever
// waits for the device calls check_reports, which throws the same error. Each launch that may fail
// carries the device's report.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

struct Report {
  // A thread claims the report, writes the rest and publishes it; only then does the host read.
  enum State : int32_t { none, claimed, published };
  int32_t state;
  int32_t dim;
  int64_t index, size;
  const char* op;
};

// The device's report for a launch, null on the cpu. Throws what an earlier launch left in it.
Report* report_of(Device d);
// Throws the bad index of a launch that has finished; to be called after a wait for the device.
void check_reports(Device d);
[[noreturn]] void throw_index(const char* op, int64_t index, int32_t dim, int64_t size);

}  // namespace flambeau
