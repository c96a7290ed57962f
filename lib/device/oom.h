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
};

// What the layers above know and this one does not: "batch 48 would fit". Called without locks
// held; may return an empty string. Must not throw.
using OutOfMemoryAdvisor = std::string (*)(const OutOfMemory& report);
void set_out_of_memory_advisor(OutOfMemoryAdvisor advisor);

[[noreturn]] void throw_out_of_memory(const OutOfMemory& report);

std::string describe(const Label& label);

}  // namespace flambeau
