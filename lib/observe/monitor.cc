// The table has a line for each GPU, below it one for each process there and one for what this
// program's allocator holds. A reading that a GPU does not give is a dash, never an error: the
// table is for looking at.
#include "observe/monitor.h"

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "device/devices.h"
#include "device/monitor.h"
#include "device/stats.h"

namespace flambeau::observe {
namespace {

constexpr int64_t kMiB = 1 << 20;

template <class F>
std::string or_dash(F&& f) {
  try {
    return f();
  } catch (const Error&) {
    return "-";
  }
}

std::string reading(Device d, hal::Reading what, const char* unit, int64_t divisor = 1) {
  return or_dash([&] { return cat_text(read_sensor(d, what) / divisor, unit); });
}

std::string memory(Device d) {
  return or_dash([&] {
    return cat_text(read_sensor(d, hal::Reading::memory_used) / kMiB, " of ",
                    read_sensor(d, hal::Reading::memory_total) / kMiB, " MiB");
  });
}

template <class... T>
std::string line(const char* format, const T&... cells) {
  char text[256];
  std::snprintf(text, sizeof text, format, cells...);
  return text;
}

constexpr const char* kFormat = "%-7s %-28.28s %6s %6s %22s %6s %7s %9s\n";

std::string gpu_line(Device d) {
  using enum hal::Reading;
  return line(kFormat, to_string(d).c_str(), device_properties(d).name.c_str(),
              reading(d, utilization, " %").c_str(), reading(d, memory_utilization, " %").c_str(),
              memory(d).c_str(), reading(d, temperature, " C").c_str(),
              reading(d, power_draw, " W", 1000).c_str(), reading(d, clock_rate, " MHz").c_str());
}

// As the system names it; of a process of another container it knows nothing.
std::string name_of(int64_t pid) {
  std::string name;
  std::ifstream file(cat_text("/proc/", pid, "/comm"));
  std::getline(file, name);
  return name.empty() ? "?" : name;
}

std::string process_lines(Device d) {
  std::string text;
  for (const hal::Process& p : processes_on(d)) {
    const std::string used = p.bytes < 0 ? "-" : cat_text(p.bytes / kMiB, " MiB");
    text += line("  process %-10lld %-24.24s %28s\n", static_cast<long long>(p.pid),
                 name_of(p.pid).c_str(), used.c_str());
  }
  return text;
}

std::string allocator_line(Device d) {
  const MemoryStats stats = memory_stats(d);
  const Stat &used = stats.allocated_bytes.of[kAllPools],
             &held = stats.reserved_bytes.of[kAllPools];
  if (held.peak == 0) return {};
  return cat_text("  this program: ", used.current / kMiB, " MiB in tensors, at most ",
                  used.peak / kMiB, " MiB; ", held.current / kMiB, " MiB held\n");
}

// A simulated GPU that answers to "cuda" is listed under that name.
DeviceType kind_of_gpus() {
  return is_available(DeviceType::cuda) ? DeviceType::cuda : DeviceType::sim;
}

}  // namespace

std::string processes_json(Device d) {
  std::string text;
  for (const hal::Process& p : processes_on(d))
    text += cat_text(text.empty() ? "" : ", ", "{\"pid\": ", p.pid, ", \"bytes\": ", p.bytes, "}");
  return "[" + text + "]";
}

std::string process_list(Device d) {
  d = resolve(d);
  std::string text = cat_text("GPU:", d.index);
  const std::vector<hal::Process> found = processes_on(d);
  if (found.empty()) text += "\nno processes are running";
  for (const hal::Process& p : found) {
    const std::string used =
        p.bytes < 0 ? "an unknown amount of" : line("%8.3f MB", double(p.bytes) / double(kMiB));
    text +=
        line("\nprocess %10lld uses %s GPU memory", static_cast<long long>(p.pid), used.c_str());
  }
  return text;
}

std::string monitor_table() {
  const DeviceType type = kind_of_gpus();
  if (!is_available(type)) return "There is no GPU: " + unavailable_reason(DeviceType::cuda) + "\n";
  std::string text =
      line(kFormat, "GPU", "Model", "Busy", "Memory", "Memory used", "Temp.", "Power", "Clock");
  for (int i = 0; i < device_count(type); ++i) {
    const Device d{type, int16_t(i)};
    text += gpu_line(d) + or_dash([&] { return process_lines(d); }) + allocator_line(d);
  }
  return text;
}

}  // namespace flambeau::observe
