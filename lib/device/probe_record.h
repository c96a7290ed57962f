// What the probe has heard between start and stop, as it was heard: one list per thread, parents
// before children. lib/observe makes reports of it.
#pragma once
#include <utility>
#include <vector>

#include "device/activity.h"
#include "device/event.h"
#include "device/probe.h"
#include "device/probe_transfer.h"

namespace flambeau::probe {

struct Options {
  bool shapes = false, memory = false, modules = false, device_time = true;
};

struct SpanRecord {
  const char* name = nullptr;
  const char* module = nullptr;
  int64_t begin_ns = 0, end_ns = 0;  // of the steady clock
  uint64_t sequence = 0;             // of the node that it recorded or ran; 0: none
  uint32_t shapes_at = 0, shapes_size = 0;
  int32_t parent = -1;                       // in the thread's list
  int32_t begin_event = -1, end_event = -1;  // in the thread's list of events
  Kind kind = Kind::op;
  Device device{};
  uint32_t stream = 0;
};

struct MemoryRecord {
  int64_t time_ns, bytes;  // negative: freed
  int32_t span;            // -1: outside of all
  Device device;
};

// What the host handed to a device that is traced.
struct LaunchRecord {
  const char* name;  // the engine's own, or null
  int64_t time_ns;
  int32_t span;  // -1: outside of all
};

// A point of a device's time that the host knows, too.
struct Anchor {
  Device device;
  int64_t host_ns;
  Event event;
};

struct ThreadRecord {
  int64_t id = 0;       // the system's
  uint32_t number = 0;  // an activity's launch is this times 2^32, and one more than a place in:
  std::vector<LaunchRecord> launches;
  std::vector<SpanRecord> spans;
  std::vector<int64_t> shapes;
  std::vector<MemoryRecord> memory;
  std::vector<Transfer> transfers;
  std::vector<Event> events;
  std::vector<Anchor> anchors;
};

struct Recorded {
  Options options;
  int64_t begin_ns = 0, end_ns = 0;  // of the steady clock
  int64_t epoch_ns = 0;              // of the system's clock at begin_ns
  int64_t lost = 0;                  // spans for which there was no memory
  std::vector<ThreadRecord> threads;
  Activities traced;
  std::vector<std::pair<Device, int64_t>> allocated;  // bytes in use when it began, per device
};

void start(const Options& options);  // throws Error(invalid argument) while one is running
Recorded stop();                     // throws Error(invalid argument) while none is
bool running() noexcept;

}  // namespace flambeau::probe
