// Out of memory as a report: what was asked, what there is, who holds it, and what to do about it.
#pragma once
#include <string>
#include <vector>

#include "base/device.h"
#include "base/error.h"
#include "device/block.h"

namespace flambeau {

struct Holder {
  std::string label;  // "linear in net.0", "add", "unlabelled"
  int64_t bytes = 0, blocks = 0;
};

struct OutOfMemory {
  Device device;
  bool pinned = false;
  size_t asked = 0, rounded = 0;
  size_t capacity = 0, device_free = 0, limit = SIZE_MAX;
  int64_t allocated = 0, reserved = 0, pending = 0;
  size_t largest_free_block = 0, free_in_other_streams = 0;
  std::vector<Holder> holders;  // most bytes first, at most five
  int64_t rows = 0;             // of the op that asks; 0: none
  Step::Phase phase = Step::idle;
  int64_t batch = 0, step_bytes = 0;  // of the step that runs; bytes: allocated in its forward
  size_t step_largest = 0;            // block of those
};

// The most rows of the step's batch (outside of a step, of the op's first operand) with which this
// request would have fitted, and in a forward two more tensors as large as its largest, for
// backward. 0: not even one; negative: not known, or all would.
int64_t fitting_rows(const OutOfMemory& report);

[[noreturn]] void throw_out_of_memory(const OutOfMemory& report);

std::string describe(const Label& label);

}  // namespace flambeau
