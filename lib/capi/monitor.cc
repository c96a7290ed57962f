// Targets of monitor.h: readings as numbers, lists and tables as texts that are valid until this
// thread asks for the next.
#include "flambeau/monitor.h"

#include "base/error.h"
#include "capi/gen/targets.h"
#include "device/monitor.h"
#include "observe/monitor.h"

namespace flambeau::capi {

int64_t monitor_read(Device device, std::string_view key) {
  return read_sensor(device, reading_named(key));
}

const char* monitor_processes(Device device) {
  static thread_local std::string text;
  text = observe::processes_json(device);
  return text.c_str();
}

const char* monitor_process_list(Device device) {
  static thread_local std::string text;
  text = observe::process_list(device);
  return text.c_str();
}

const char* monitor_table() {
  static thread_local std::string text;
  text = observe::monitor_table();
  return text.c_str();
}

}  // namespace flambeau::capi
