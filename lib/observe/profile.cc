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

// "void ns::kernel<(int)4>(float*, int)" is ns::kernel<(int)4>.
std::string short_name(std::string_view symbol) {
  if (symbol.starts_with("void ")) symbol.remove_prefix(5);
  int depth = 0;
  for (size_t i = 0; i < symbol.size(); ++i) {
    depth += (symbol[i] == '<') - (symbol[i] == '>');
    const bool ends = symbol[i] == '(' && !symbol.substr(i).starts_with("(anonymous");
    if (ends && i > 0 && depth == 0) return std::string(symbol.substr(0, i));
  }
  return std::string(symbol);
}

// Ties what a device ran to the event that was open where the host asked for it; `first` has the
// place of each thread's events.
void add_activities(probe::Recorded& recorded, const std::vector<size_t>& first,
                    flam_profile& profile) {
  std::ranges::stable_sort(recorded.traced.all, {}, &Activity::begin_ns);
  for (Activity& a : recorded.traced.all) {
    if (a.begin_ns < recorded.begin_ns) continue;  // an earlier profile's
    ProfileActivity made{{}, {}, a.kind, a.device, a.stream};
    made.begin_us = us_since(recorded.begin_ns, a.begin_ns);
    made.length_us = us_since(a.begin_ns, a.end_ns);
    const auto thread =
        std::ranges::find(recorded.threads, uint32_t(a.launch >> 32), &ThreadRecord::number);
    const size_t place = size_t(a.launch & 0xffffffff) - 1;
    if (a.launch && thread != recorded.threads.end() && place < thread->launches.size()) {
      const probe::LaunchRecord& launch = thread->launches[place];
      made.asked_us = us_since(recorded.begin_ns, launch.time_ns);
      if (launch.name) made.name = cat_text(launch.name, "_kernel");
      if (launch.span >= 0)
        made.event = launch.span + int32_t(first[size_t(thread - recorded.threads.begin())]);
    }
    if (made.name.empty())
      made.name = a.kind == Activity::Kind::kernel ? short_name(a.name) : a.name;
    made.symbol = std::move(a.name);
    if (made.event >= 0) profile.events[size_t(made.event)].of_device.self += made.length_us;
    profile.activities.push_back(std::move(made));
  }
}

// Children come after their parents, so one pass from the end sees each complete.
void fold_into_parents(std::vector<ProfileEvent>& events) {
  for (size_t i = events.size(); i-- > 0;) {
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
// too, else the sum of what the device ran for it and of what was measured inside.
void fold_device_times(std::vector<ProfileEvent>& events) {
  std::vector<double> inside(events.size());
  for (size_t i = events.size(); i-- > 0;) {
    ProfileEvent& e = events[i];
    if (e.of_device.total == 0) e.of_device.total = e.of_device.self + inside[i];
    e.of_device.self = std::max(0.0, e.of_device.total - inside[i]);
    if (e.parent >= 0) inside[size_t(e.parent)] += e.of_device.total;
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

const char* ProfileActivity::category() const {
  constexpr const char* names[] = {"kernel", "copy", "fill"};
  return names[int(kind)];
}

}  // namespace flambeau::observe

flam_profile::flam_profile(flambeau::probe::Recorded recorded)
    : options(recorded.options),
      length_us(flambeau::observe::us_since(recorded.begin_ns, recorded.end_ns)),
      epoch_us(recorded.epoch_ns / 1000),
      steady_ns(recorded.begin_ns),
      lost(recorded.lost),
      lost_activities(recorded.traced.lost),
      untraced(recorded.traced.problem) {
  using namespace flambeau::observe;
  std::vector<size_t> firsts;
  for (const auto& thread : recorded.threads) {
    const size_t first = firsts.emplace_back(events.size());
    for (const auto& span : thread.spans) {
      events.push_back(event_of(thread, span, recorded.begin_ns));
      if (span.parent >= 0) events.back().parent = span.parent + int32_t(first);
    }
    read_device_times(thread, recorded.begin_ns, first, events);
    add_memory(thread, recorded.begin_ns, first, *this);
  }
  add_activities(recorded, firsts, *this);
  add_transfers(recorded, firsts, *this);
  fold_into_parents(events);
  fold_device_times(events);
  sum_memory(recorded, memory);
}
