// What a profiler session found: events with their own and their total times, per thread in the
// order in which they began, parents before children. Made once, then only read: by the table, the
// averages and the trace.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "device/probe_record.h"

namespace flambeau::observe {

struct Bytes {
  int64_t allocated = 0, freed = 0;
  int64_t net() const { return allocated - freed; }
  void add(int64_t bytes) { (bytes > 0 ? allocated : freed) += bytes > 0 ? bytes : -bytes; }
  void add(const Bytes& b) { allocated += b.allocated, freed += b.freed; }
};

// One resource's share of an event: of the event alone, and with what ran inside.
template <class T> struct Share {
  T self{}, total{};
};

struct ProfileEvent {
  std::string name;
  const char* module = nullptr;  // path, interned
  std::string shapes;            // of the operands, "[[64, 784], [784]]"; empty: not recorded
  std::string dtypes;
  probe::Kind kind = probe::Kind::op;
  int32_t parent = -1;  // in the profile's list
  int64_t thread = 0;
  uint64_t sequence = 0;
  Device device;
  uint32_t stream = 0;
  double begin_us = 0;            // since the session began
  double device_begin_us = 0;     // likewise; where device.total is not 0
  Share<double> host, of_device;  // microseconds
  Share<Bytes> host_memory, device_memory;
};

// A kernel, copy or fill, as a device ran it.
struct ProfileActivity {
  std::string name, symbol;  // `symbol`: the kernel's whole name
  Activity::Kind kind;
  Device device;
  uint32_t stream = 0;
  double begin_us = 0, length_us = 0, asked_us = 0;  // `asked_us`: by the host, for an event's work
  int32_t event = -1;                                // whose work it is
  const char* category() const;                      // "kernel", "copy", "fill"
};

// A call of a group of processes, as long as its bytes moved.
struct ProfileTransfer {
  probe::Transfer told;
  std::string name;  // "gloo:all_reduce"
  double begin_us = 0, length_us = 0, asked_us = 0;
  int32_t event = -1;  // that waited for it
  int64_t lane = 0;    // as a thread's number: one of the group's, which has one call at a time
};

struct MemoryPoint {
  double time_us;
  int64_t bytes, total;  // the change, and what is in use after it
  Device device;
  int64_t thread;
};

struct Average {
  std::string name, shapes, module;
  int64_t count = 0;
  Share<double> host, of_device;
  Share<Bytes> host_memory, device_memory;
  const char* kind = "";
};

struct Grouping {
  bool shapes = false, modules = false;
};

}  // namespace flambeau::observe

struct flam_profile : flambeau::RefCounted {
  explicit flam_profile(flambeau::probe::Recorded recorded);

  std::vector<flambeau::observe::ProfileEvent> events;
  std::vector<flambeau::observe::ProfileActivity> activities;  // of devices that were traced
  std::vector<flambeau::observe::ProfileTransfer> transfers;   // by time
  std::vector<flambeau::observe::MemoryPoint> memory;          // by time
  flambeau::probe::Options options;
  double length_us = 0;
  int64_t epoch_us = 0;   // the system's clock when the session began
  int64_t steady_ns = 0;  // the steady clock then
  int64_t lost = 0, lost_activities = 0;
  std::string untraced;  // why a device was not traced
};

namespace flambeau::observe {

// One entry per name, and per shapes and module where asked for; ordered by their own host time.
std::vector<Average> averages(const flam_profile& profile, Grouping grouping);
std::string averages_json(const flam_profile& profile, Grouping grouping);
std::string events_json(const flam_profile& profile);
// `sort_by`: a column; empty: as it happened. `rows` below 0: all. Throws Error(invalid argument)
// for another column.
std::string table(const flam_profile& profile, std::string_view sort_by, int64_t rows,
                  Grouping grouping);
// `job`: a group of this process, which says its rank where the profile has no communication; or
// null.
std::string chrome_trace(const flam_profile& profile, const probe::Channel* job);

// A trace of several ranks: what of it belongs to one of them, a line an event, to be joined by
// commas between the head and the foot.
struct RankOfTrace {
  int rank = 0;
  std::string host;
};
std::string rank_trace(const flam_profile& profile, const RankOfTrace& of);
inline constexpr std::string_view kTraceHead =
    "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":0,\n"
    "\"traceEvents\":[\n";

// Places `recorded`'s communication in the profile, whose events are there; `first` has the place
// of each thread's.
void add_transfers(const probe::Recorded& recorded, const std::vector<size_t>& first,
                   flam_profile& profile);

}  // namespace flambeau::observe
