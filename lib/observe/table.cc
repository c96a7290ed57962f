// The averages as a table for people, in the columns of PyTorch's profiler: a row of columns knows
// its header, its text and the number that it sorts by, so that a column is one line here. Columns
// of a device or of memory appear where there is something to say.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "base/error.h"
#include "base/text_table.h"
#include "observe/profile.h"

namespace flambeau::observe {
namespace {

struct Sums {
  double host = 0, of_device = 0;
};

struct Column {
  const char* header;
  std::function<std::string(const Average&)> text;
  bool left = false;
};

std::string printed(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string time_text(double us) {
  if (us >= 1e6) return printed("%.3fs", us / 1e6);
  return us >= 1e3 ? printed("%.3fms", us / 1e3) : printed("%.3fus", us);
}

std::string bytes_text(int64_t bytes) {
  const double magnitude = double(bytes < 0 ? -bytes : bytes);
  if (magnitude >= double(1 << 30)) return printed("%.2f GB", double(bytes) / double(1 << 30));
  if (magnitude >= double(1 << 20)) return printed("%.2f MB", double(bytes) / double(1 << 20));
  if (magnitude >= double(1 << 10)) return printed("%.2f KB", double(bytes) / double(1 << 10));
  return cat_text(bytes, " B");
}

std::string share_text(double part, double whole) {
  return printed("%.2f%%", whole > 0 ? 100 * part / whole : 0);
}

double calls(const Average& a) { return double(std::max<int64_t>(a.count, 1)); }

// The numbers that rows sort by, under PyTorch's names; the device's also under "cuda".
struct Key {
  const char* name;
  double (*value)(const Average&);
};
constexpr Key kKeys[] = {
    {"cpu_time", [](const Average& a) { return a.host.total / calls(a); }},
    {"cpu_time_total", [](const Average& a) { return a.host.total; }},
    {"self_cpu_time_total", [](const Average& a) { return a.host.self; }},
    {"device_time", [](const Average& a) { return a.of_device.total / calls(a); }},
    {"device_time_total", [](const Average& a) { return a.of_device.total; }},
    {"self_device_time_total", [](const Average& a) { return a.of_device.self; }},
    {"cpu_memory_usage", [](const Average& a) { return double(a.host_memory.total.net()); }},
    {"self_cpu_memory_usage", [](const Average& a) { return double(a.host_memory.self.net()); }},
    {"device_memory_usage", [](const Average& a) { return double(a.device_memory.total.net()); }},
    {"self_device_memory_usage",
     [](const Average& a) { return double(a.device_memory.self.net()); }},
    {"count", [](const Average& a) { return double(a.count); }},
};
// Sorted upwards, by text.
constexpr std::pair<const char*, std::string Average::*> kTextKeys[] = {
    {"name", &Average::name}, {"shapes", &Average::shapes}, {"module", &Average::module}};

void sort(std::vector<Average>& rows, std::string_view by) {
  if (by.empty()) return;
  std::string wanted(by);
  for (const char* accelerator : {"cuda", "xpu", "privateuse1"}) {
    const size_t at = wanted.find(accelerator);
    if (at != std::string::npos) wanted.replace(at, std::string(accelerator).size(), "device");
  }
  for (const Key& k : kKeys)
    if (wanted == k.name) return void(std::ranges::stable_sort(rows, std::greater(), k.value));
  std::string known;
  for (const auto& [name, member] : kTextKeys) {
    if (wanted == name) return void(std::ranges::stable_sort(rows, {}, member));
    known += cat_text(", ", name);
  }
  for (const Key& k : kKeys) known += cat_text(", ", k.name);
  throw Error(Code::invalid_argument, cat_text("there is no column \"", by, "\" to sort by"), {},
              "columns: " + known.substr(2));
}

void add_host(std::vector<Column>& to, const Sums& sums) {
  to.push_back(
      {"Self CPU %", [=](const Average& a) { return share_text(a.host.self, sums.host); }});
  to.push_back({"Self CPU", [](const Average& a) { return time_text(a.host.self); }});
  to.push_back(
      {"CPU total %", [=](const Average& a) { return share_text(a.host.total, sums.host); }});
  to.push_back({"CPU total", [](const Average& a) { return time_text(a.host.total); }});
  to.push_back(
      {"CPU time avg", [](const Average& a) { return time_text(a.host.total / calls(a)); }});
}

void add_device(std::vector<Column>& to, const Sums& sums) {
  to.push_back({"Self Device", [](const Average& a) { return time_text(a.of_device.self); }});
  to.push_back({"Self Device %",
                [=](const Average& a) { return share_text(a.of_device.self, sums.of_device); }});
  to.push_back({"Device total", [](const Average& a) { return time_text(a.of_device.total); }});
  to.push_back({"Device time avg",
                [](const Average& a) { return time_text(a.of_device.total / calls(a)); }});
}

void add_memory(std::vector<Column>& to, const char* net, const char* own, const char* allocated,
                Share<Bytes> Average::* of) {
  to.push_back({net, [=](const Average& a) { return bytes_text((a.*of).total.net()); }});
  to.push_back({own, [=](const Average& a) { return bytes_text((a.*of).self.net()); }});
  to.push_back({allocated, [=](const Average& a) { return bytes_text((a.*of).self.allocated); }});
}

std::vector<Column> columns(const flam_profile& profile, Grouping grouping, const Sums& sums) {
  bool device_bytes = false;
  for (const MemoryPoint& m : profile.memory) device_bytes |= !m.device.is_cpu();
  std::vector<Column> all{{"Name", [](const Average& a) { return a.name; }, true}};
  add_host(all, sums);
  if (profile.options.memory)
    add_memory(all, "CPU Mem", "Self CPU Mem", "Self CPU Alloc", &Average::host_memory);
  if (sums.of_device > 0) add_device(all, sums);
  if (device_bytes)
    add_memory(all, "Device Mem", "Self Device Mem", "Self Device Alloc", &Average::device_memory);
  all.push_back({"# of Calls", [](const Average& a) { return cat_text(a.count); }});
  if (grouping.shapes)
    all.push_back({"Input Shapes", [](const Average& a) { return a.shapes; }, true});
  if (grouping.modules) all.push_back({"Module", [](const Average& a) { return a.module; }, true});
  return all;
}

std::string drawn(const std::vector<Column>& columns, const std::vector<Average>& rows) {
  std::vector<TextColumn> headers;
  std::vector<std::vector<std::string>> cells(rows.size());
  for (const Column& c : columns) {
    headers.push_back({c.header, c.left});
    for (size_t r = 0; r < rows.size(); ++r) cells[r].push_back(c.text(rows[r]));
  }
  return text_table(headers, std::move(cells));
}

// Of what traced devices tell, and of the operations on the others.
double of_devices(const flam_profile& profile) {
  double sum = 0;
  std::vector<Device> traced;
  for (const ProfileActivity& a : profile.activities) {
    if (std::ranges::find(traced, a.device) == traced.end()) traced.push_back(a.device);
    sum += a.length_us;
  }
  for (const ProfileEvent& e : profile.events)
    if (std::ranges::find(traced, e.device) == traced.end()) sum += e.of_device.self;
  return sum;
}

}  // namespace

std::string table(const flam_profile& profile, std::string_view sort_by, int64_t row_limit,
                  Grouping grouping) {
  std::vector<Average> rows = averages(profile, grouping);
  Sums sums;
  for (const Average& a : rows) {
    sums.host += a.host.self;
  }
  sums.of_device = of_devices(profile);
  sort(rows, sort_by);
  if (row_limit >= 0 && size_t(row_limit) < rows.size())
    rows.erase(rows.begin() + row_limit, rows.end());
  std::string out = drawn(columns(profile, grouping, sums), rows);
  out += "Self CPU time total: " + time_text(sums.host) + "\n";
  if (sums.of_device > 0) out += "Self Device time total: " + time_text(sums.of_device) + "\n";
  if (!profile.untraced.empty())
    out += cat_text("devices told no kernels' names: ", profile.untraced, "\n");
  if (profile.lost_activities)
    out += cat_text("not told by the devices: ", profile.lost_activities, " kernels or copies\n");
  if (profile.lost) out += cat_text("not recorded for want of memory: ", profile.lost, " events\n");
  return out;
}

}  // namespace flambeau::observe
