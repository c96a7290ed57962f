// See monitor.h.
#include "device/monitor.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "device/call.h"

namespace flambeau {
namespace {

// In the order of hal::Reading.
constexpr std::array<const char*, 8> kKeys = {"utilization", "memory_utilization", "memory_used",
                                              "memory_free", "memory_total",       "temperature",
                                              "power_draw",  "clock_rate"};

Device monitored(Device d) {
  d = resolve(d);
  check(hal::table_of(d).reading != nullptr, Code::unsupported, to_string(d),
        " has nothing to monitor: GPUs do");
  return d;
}

}  // namespace

hal::Reading reading_named(std::string_view key) {
  const auto* const found = std::ranges::find(kKeys, key);
  std::string known;
  for (const char* k : kKeys) known += cat_text(known.empty() ? "" : ", ", k);
  check(found != kKeys.end(), Code::invalid_argument, "there is no reading \"", key,
        "\"; there are ", known);
  return hal::Reading(found - kKeys.begin());
}

int64_t read_sensor(Device d, hal::Reading what) {
  int64_t value = 0;
  hal::call<&hal::Table::reading>(monitored(d), kKeys[size_t(what)], what, &value);
  return value;
}

std::vector<hal::Process> processes_on(Device d) {
  std::vector<hal::Process> found;
  hal::call<&hal::Table::processes>(monitored(d), "processes", &found);
  return found;
}

}  // namespace flambeau
