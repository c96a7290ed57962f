// From what the probe heard to events: names as PyTorch writes them, times relative to the start,
// the device's times read from its events, and own shares by taking the children's from the total.
#include "observe/profile.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/dtype.h"
#include "base/error.h"

namespace flambeau::observe {
namespace {

using probe::Kind;
using probe::SpanRecord;
using probe::ThreadRecord;

double us_since(int64_t begin_ns, int64_t time_ns) { return double(time_ns - begin_ns) / 1e3; }

// Nodes bear their op's name; PyTorch calls them "GeluBackward0".
std::string backward_name(std::string_view name) {
  if (name == "AccumulateGrad" || name.find("Backward") != std::string_view::npos)
    return std::string(name);
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') out += upper ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return out + "Backward0";
}

void write_shapes(const ThreadRecord& thread, const SpanRecord& span, ProfileEvent& event) {
  const int64_t* at = thread.shapes.data() + span.shapes_at;
  const int64_t* const end = at + span.shapes_size;
  if (at == end) return;
  while (at < end) {
    const auto dtype = Dtype(at[0]);
    const int64_t sizes = at[1];
    at += 2;
    event.shapes += event.shapes.empty() ? "[[" : ", [";
    for (int64_t i = 0; i < sizes; ++i) event.shapes += cat_text(i ? ", " : "", *at++);
    event.shapes += "]";
    event.dtypes += cat_text(event.dtypes.empty() ? "" : ", ",
                             dtype == Dtype::none ? "none" : short_name(dtype));
  }
  event.shapes += "]";
}

// The device's times. Whatever fails here, a lost device for example, leaves them at 0.
void read_device_times(const ThreadRecord& thread, int64_t begin_ns, size_t first,
                       std::vector<ProfileEvent>& events) try {
  for (size_t i = 0; i < thread.spans.size(); ++i) {
    const SpanRecord& s = thread.spans[i];
    if (s.begin_event < 0 || s.end_event < 0) continue;
    const Event& begin = thread.events[size_t(s.begin_event)];
    const Event& end = thread.events[size_t(s.end_event)];
    end.synchronize();
    const auto anchor = std::ranges::find(thread.anchors, s.device, &probe::Anchor::device);
    events[first + i].of_device.total = 1e3 * begin.elapsed_ms(end);
    events[first + i].device_begin_us =
        us_since(begin_ns, anchor->host_ns) + 1e3 * anchor->event.elapsed_ms(begin);
  }
} catch (const Error&) {
}

ProfileEvent event_of(const ThreadRecord& thread, const SpanRecord& s, int64_t begin_ns) {
  ProfileEvent e;
  e.name = s.kind == Kind::backward ? backward_name(s.name) : s.name;
  e.module = s.module;
  e.kind = s.kind;
  e.thread = thread.id;
  e.sequence = s.sequence;
  e.device = s.device;
  e.stream = s.stream;
  e.begin_us = us_since(begin_ns, s.begin_ns);
  e.host.total = e.host.self = double(s.end_ns - s.begin_ns) / 1e3;
  write_shapes(thread, s, e);
  return e;
}

// Children come after their parents, so one pass from the end sees each complete.
void fold_into_parents(std::vector<ProfileEvent>& events, size_t first) {
  for (size_t i = events.size(); i-- > first;) {
    ProfileEvent& e = events[i];
    e.host_memory.total.add(e.host_memory.self);
    e.device_memory.total.add(e.device_memory.self);
    if (e.parent < 0) continue;
    ProfileEvent& p = events[size_t(e.parent)];
    p.host.self -= e.host.total;
    p.host_memory.total.add(e.host_memory.total);
    p.device_memory.total.add(e.device_memory.total);
  }
}

// What ran on the device inside an event: its own measure where it has one, as that has the gaps
// too, else the sum of what was measured inside.
void fold_device_times(std::vector<ProfileEvent>& events, size_t first) {
  std::vector<double> inside(events.size() - first);
  for (size_t i = events.size(); i-- > first;) {
    ProfileEvent& e = events[i];
    if (e.of_device.total == 0) e.of_device.total = inside[i - first];
    e.of_device.self = std::max(0.0, e.of_device.total - inside[i - first]);
    if (e.parent >= 0) inside[size_t(e.parent) - first] += e.of_device.total;
  }
}

void add_memory(const ThreadRecord& thread, int64_t begin_ns, size_t first, flam_profile& profile) {
  for (const probe::MemoryRecord& m : thread.memory) {
    profile.memory.push_back({us_since(begin_ns, m.time_ns), m.bytes, 0, m.device, thread.id});
    if (m.span < 0) continue;
    ProfileEvent& e = profile.events[first + size_t(m.span)];
    (m.device.is_cpu() ? e.host_memory : e.device_memory).self.add(m.bytes);
  }
}

void sum_memory(const probe::Recorded& recorded, std::vector<MemoryPoint>& memory) {
  std::ranges::stable_sort(memory, {}, &MemoryPoint::time_us);
  std::map<int32_t, int64_t> totals;
  for (const auto& [device, bytes] : recorded.allocated) totals[device.code()] = bytes;
  for (MemoryPoint& m : memory) m.total = totals[m.device.code()] += m.bytes;
}

}  // namespace
}  // namespace flambeau::observe

flam_profile::flam_profile(flambeau::probe::Recorded recorded)
    : options(recorded.options),
      length_us(flambeau::observe::us_since(recorded.begin_ns, recorded.end_ns)),
      epoch_us(recorded.epoch_ns / 1000),
      lost(recorded.lost) {
  using namespace flambeau::observe;
  for (const auto& thread : recorded.threads) {
    const size_t first = events.size();
    for (const auto& span : thread.spans) {
      events.push_back(event_of(thread, span, recorded.begin_ns));
      if (span.parent >= 0) events.back().parent = span.parent + int32_t(first);
    }
    read_device_times(thread, recorded.begin_ns, first, events);
    add_memory(thread, recorded.begin_ns, first, *this);
    fold_into_parents(events, first);
    fold_device_times(events, first);
  }
  sum_memory(recorded, memory);
}
