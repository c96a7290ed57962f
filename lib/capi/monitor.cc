// Targets of monitor.h: readings as numbers, lists and tables as texts that are valid until this
// thread asks for the next.
#include "flambeau/monitor.h"

#include "base/error.h"
#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "device/monitor.h"
#include "observe/monitor.h"

namespace flambeau::capi {

int64_t monitor_read(Device device, std::string_view key) {
  return read_sensor(device, reading_named(key));
}

const char* monitor_processes(Device device) {
  return text_of_thread([&] { return observe::processes_json(device); });
}

const char* monitor_process_list(Device device) {
  return text_of_thread([&] { return observe::process_list(device); });
}

const char* monitor_table() {
  return text_of_thread([] { return observe::monitor_table(); });
}

}  // namespace flambeau::capi
