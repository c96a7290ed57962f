// Times in which a device ran nothing are gaps; where no trace tells what it ran, an op counts from
// its first launch to its last. A gap is due to the input as far as the host was fetching a batch
// in it; else to synchronization where the host's wait for a device ended in it, as nothing can
// have been launched ahead; else to launches.
#include "observe/step_report.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"

namespace flambeau::observe {
namespace {

using probe::Kind;

struct Interval {
  double begin, end;
  double length() const { return end - begin; }
};
using Intervals = std::vector<Interval>;

// How far the clocks of host and device may be apart, in microseconds.
constexpr double kClocks = 10;

Interval host_times(const ProfileEvent& e) { return {e.begin_us, e.begin_us + e.host.total}; }

bool is_measured(const ProfileEvent& e) { return e.device_begin_us != 0 && e.of_device.total > 0; }

bool is_step(const ProfileEvent& e) {
  return e.kind == Kind::range && e.name.starts_with("ProfilerStep#");
}

bool is_input(const ProfileEvent& e) {
  return e.kind == Kind::range &&
         (e.name == "DataLoader.next" || e.name.starts_with("enumerate(DataLoader)"));
}

// Sorted, those that touch made one, and cut to what lies within.
Intervals merged(Intervals all, Interval within) {
  std::ranges::sort(all, {}, &Interval::begin);
  Intervals out;
  for (Interval i : all) {
    i = {std::max(i.begin, within.begin), std::min(i.end, within.end)};
    if (i.length() <= 0) continue;
    if (!out.empty() && i.begin <= out.back().end)
      out.back().end = std::max(out.back().end, i.end);
    else
      out.push_back(i);
  }
  return out;
}

Intervals gaps_of(const Intervals& busy, Interval within) {
  Intervals out;
  double at = within.begin;
  for (const Interval& i : busy) {
    if (i.begin > at) out.push_back({at, i.begin});
    at = i.end;
  }
  if (within.end > at) out.push_back({at, within.end});
  return out;
}

double overlap(const Intervals& all, Interval with) {
  double sum = 0;
  for (const Interval& i : all)
    sum += std::max(0.0, std::min(i.end, with.end) - std::max(i.begin, with.begin));
  return sum;
}

class Report {
 public:
  explicit Report(const flam_profile& profile) : profile_(profile), covers_(profile.events.size()) {
    for (const ProfileEvent& e : profile.events) {
      if (is_step(e)) {
        const Interval step = host_times(e);
        within_ = {made_.steps ? std::min(within_.begin, step.begin) : step.begin,
                   made_.steps ? std::max(within_.end, step.end) : step.end};
        ++made_.steps;
      }
      for (int32_t p = is_measured(e) ? e.parent : -1; p >= 0; p = profile.events[size_t(p)].parent)
        covers_[size_t(p)] = true;
    }
    if (made_.steps == 0) within_ = {0, profile.length_us};
    made_.length_us = within_.length();
  }

  StepReport run() {
    std::vector<Device> devices;
    Intervals inputs;
    for (const ProfileEvent& e : profile_.events) {
      if (is_input(e)) inputs.push_back(host_times(e));
      if (is_measured(e) && std::ranges::find(devices, e.device) == devices.end())
        devices.push_back(e.device);
    }
    for (const ProfileActivity& a : profile_.activities)
      if (std::ranges::find(devices, a.device) == devices.end()) devices.push_back(a.device);
    inputs = merged(std::move(inputs), within_);
    for (const Device d : devices) made_.devices.push_back({d, idle_of(d, inputs)});
    return std::move(made_);
  }

 private:
  Idle idle_of(Device d, const Intervals& inputs) const {
    Intervals busy;
    std::vector<double> waits;
    for (size_t i = 0; i < profile_.events.size(); ++i) {
      const ProfileEvent& e = profile_.events[i];
      if (e.kind == Kind::wait) waits.push_back(host_times(e).end);
      if (e.device == d && is_measured(e) && !covers_[i])
        busy.push_back({e.device_begin_us, e.device_begin_us + e.of_device.total});
    }
    for (const ProfileActivity& a : profile_.activities)
      if (a.device == d) busy.push_back({a.begin_us, a.begin_us + a.length_us});
    Idle idle;
    for (const Interval& gap : gaps_of(merged(std::move(busy), within_), within_)) {
      const double input = overlap(inputs, gap);
      const auto ended = [&](double end) { return end > gap.begin - kClocks && end < gap.end; };
      idle.input += input;
      (std::ranges::any_of(waits, ended) ? idle.synchronization : idle.launches) +=
          gap.length() - input;
    }
    return idle;
  }

  const flam_profile& profile_;
  std::vector<bool> covers_;  // of each event: others that were measured ran inside
  Interval within_{};
  StepReport made_;
};

std::string printed(const char* format, double a, double b = 0) {
  char text[64];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

struct Reason {
  const char* name;
  double Idle::* share;
  const char* help;
};
constexpr Reason kReasons[] = {
    {"input", &Idle::input,
     "batches come too late: DataLoader(num_workers=, prefetch_factor=, pin_memory=True), "
     ".to(device, non_blocking=True)"},
    {"synchronization", &Idle::synchronization,
     "the program waits for the device: fewer .item(), .cpu(), print and comparisons of tensors in "
     "a step; sums of losses stay on the device"},
    {"launches", &Idle::launches,
     "the host is slower than the device: larger batches, fused or foreach optimizers, CUDA graphs "
     "(torch.cuda.make_graphed_callables)"},
};

}  // namespace

StepReport step_report(const flam_profile& profile) { return Report(profile).run(); }

std::string step_report_text(const flam_profile& profile) {
  const StepReport report = step_report(profile);
  std::string out = report.steps ? printed("%.0f steps of %.3f ms\n", double(report.steps),
                                           report.length_us / 1e3 / double(report.steps))
                                 : printed("%.3f ms\n", report.length_us / 1e3);
  for (const DeviceIdle& d : report.devices) {
    const double percent = 100 / std::max(report.length_us, 1e-9), idle = d.idle.sum() * percent;
    out +=
        cat_text(to_string(d.device), printed(": busy %.1f %%, idle %.1f %%\n", 100 - idle, idle));
    for (const Reason& r : kReasons) {
      const double share = d.idle.*r.share * percent;
      if (share < 0.05) continue;
      char line[32];
      std::snprintf(line, sizeof line, "  %-15s %5.1f %%", r.name, share);
      out += cat_text(line, share < 2 ? "" : "  ", share < 2 ? "" : r.help, "\n");
    }
  }
  if (report.devices.empty())
    out += profile.options.device_time ? "no work of a GPU was recorded\n"
                                       : "recorded without device times: device_time=True\n";
  return out;
}

}  // namespace flambeau::observe
