// Runs inside a fault handler: no allocation, and where another thread holds the allocator's lock
// the line goes without the block.
#include "device/sim/host_access.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "device/allocator.h"
#include "device/sim/control.h"
#include "device/sim_config.h"

namespace flambeau::sim {
namespace {

std::atomic<int> g_report{-1};

// "byte 12 of a block of 4000 bytes from linear in net.0", or what is known instead.
void describe_place(const Arena& arena, Device device, const void* address, char* text,
                    size_t room) noexcept {
  const Block* block = arena.is_live(address) ? allocator_of(device).try_find(address) : nullptr;
  if (!block) {
    std::snprintf(text, room, "where no tensor is now");
    return;
  }
  const Label label = block->label();
  const size_t at = size_t(static_cast<const char*>(address) - static_cast<char*>(block->data));
  std::snprintf(text, room, "byte %zu of a block of %zu bytes%s%s%s%s", at,
                block->requested.load(std::memory_order_relaxed), label.op ? " from " : "",
                label.op ? label.op : "", label.module ? " in " : "",
                label.module ? label.module : "");
}

}  // namespace

void report_host_access_to(int file_descriptor) { g_report = file_descriptor; }

void report_host_access(const Arena& arena, const void* address, bool wrote) noexcept {
  const int file = g_report;
  if (file < 0) return;
  const Device device{config().answers_to, int16_t(arena.device_of(address))};
  char place[256], line[512];
  describe_place(arena, device, address, place, sizeof place);
  const int length =
      std::snprintf(line, sizeof line,
                    "flambeau: host code %s device memory: %s:%d, address %p, %s; the host has no "
                    "access to it: copy it first (cpu(), flam_to)\n",
                    wrote ? "wrote to" : "read", device.type == DeviceType::cuda ? "cuda" : "sim",
                    int(device.index), address, place);
  if (length <= 0) return;
  const ssize_t written = write(file, line, std::min(size_t(length), sizeof line - 1));
  static_cast<void>(written);  // nothing is left to tell of a failure
}

}  // namespace flambeau::sim
