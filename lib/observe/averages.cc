// Events of one name taken together, and events and averages as JSON for the bindings. Calls of
// modules are no row: what they take is in their ops, and what they take themselves counts for what
// called them.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "observe/profile.h"

namespace flambeau::observe {
namespace {

using json::number;
using probe::Kind;

// Whether the event is inside another one of its row: its total is in that one's already.
bool is_nested(const flam_profile& profile, const ProfileEvent& e) {
  for (int32_t p = e.parent; p >= 0; p = profile.events[size_t(p)].parent) {
    if (profile.events[size_t(p)].name == e.name) return true;
  }
  return false;
}

// What the calls of modules took themselves, for the events that called them.
std::vector<double> times_of_modules(const flam_profile& profile) {
  std::vector<double> taken(profile.events.size());
  for (size_t i = profile.events.size(); i-- > 0;) {
    const ProfileEvent& e = profile.events[i];
    if (e.kind == Kind::module && e.parent >= 0) taken[size_t(e.parent)] += e.host.self + taken[i];
  }
  return taken;
}

void add(Average& a, const ProfileEvent& e, double of_modules, bool nested) {
  ++a.count;
  a.host.self += e.host.self + of_modules;
  a.of_device.self += e.of_device.self;
  a.host_memory.self.add(e.host_memory.self);
  a.device_memory.self.add(e.device_memory.self);
  if (nested) return;
  a.host.total += e.host.total;
  a.of_device.total += e.of_device.total;
  a.host_memory.total.add(e.host_memory.total);
  a.device_memory.total.add(e.device_memory.total);
}

const char* kind_name(Kind k) {
  constexpr const char* names[] = {"op", "backward", "range", "module", "wait"};
  return names[int(k)];
}

std::string bytes_json(const char* name, const Share<Bytes>& b) {
  const auto one = [](const Bytes& x) {
    return cat_text("{\"allocated\":", x.allocated, ",\"freed\":", x.freed, "}");
  };
  return cat_text(",\"", name, "\":{\"self\":", one(b.self), ",\"total\":", one(b.total), "}");
}

std::string time_json(const char* name, const Share<double>& t) {
  return cat_text(",\"", name, "\":{\"self\":", number(t.self), ",\"total\":", number(t.total),
                  "}");
}

template <class T> std::string measures_json(const T& t) {
  return time_json("host_us", t.host) + time_json("device_us", t.of_device) +
         bytes_json("host_bytes", t.host_memory) + bytes_json("device_bytes", t.device_memory);
}

std::string shapes_json(const std::string& shapes) { return shapes.empty() ? "[]" : shapes; }

}  // namespace

std::vector<Average> averages(const flam_profile& profile, Grouping grouping) {
  std::vector<Average> all;
  std::unordered_map<std::string, size_t> rows;
  const auto row = [&](const std::string& name, const char* kind, const std::string& shapes,
                       const char* module) -> Average& {
    Average a;
    a.name = name, a.kind = kind;
    if (grouping.shapes) a.shapes = shapes;
    if (grouping.modules && module) a.module = module;
    const std::string key = cat_text(name, '\n', a.shapes, '\n', a.module);
    const auto [at, fresh] = rows.try_emplace(key, all.size());
    if (fresh) all.push_back(std::move(a));
    return all[at->second];
  };
  const std::vector<double> of_modules = times_of_modules(profile);
  for (size_t i = 0; i < profile.events.size(); ++i) {
    const ProfileEvent& e = profile.events[i];
    if (e.kind == Kind::module) continue;
    add(row(e.name, kind_name(e.kind), e.shapes, e.module), e, of_modules[i],
        is_nested(profile, e));
  }
  for (const ProfileActivity& a : profile.activities) {
    const char* module = a.event < 0 ? nullptr : profile.events[size_t(a.event)].module;
    Average& of = row(a.name, a.category(), {}, module);
    ++of.count;
    of.of_device.self += a.length_us;
    of.of_device.total += a.length_us;
  }
  for (const ProfileTransfer& t : profile.transfers) {
    Average& of = row(t.name, "communication", {}, nullptr);
    ++of.count;
    of.host.self += t.length_us;
    of.host.total += t.length_us;
  }
  std::ranges::stable_sort(all, std::greater(), [](const Average& a) { return a.host.self; });
  return all;
}

std::string averages_json(const flam_profile& profile, Grouping grouping) {
  std::string out;
  for (const Average& a : averages(profile, grouping)) {
    out += cat_text(out.empty() ? "" : ",\n", "{\"name\":", json::quoted(a.name), ",\"kind\":\"",
                    a.kind, "\",\"module\":", json::quoted(a.module),
                    ",\"shapes\":", shapes_json(a.shapes), ",\"count\":", a.count, measures_json(a),
                    "}");
  }
  return "[" + out + "]";
}

std::string events_json(const flam_profile& profile) {
  std::string out;
  const auto write = [&](const ProfileEvent& e, const char* kind) {
    out +=
        cat_text(out.empty() ? "" : ",\n", "{\"name\":", json::quoted(e.name), ",\"kind\":\"", kind,
                 "\",\"module\":", json::quoted(e.module ? e.module : ""),
                 ",\"shapes\":", shapes_json(e.shapes), ",\"dtypes\":", json::quoted(e.dtypes),
                 ",\"parent\":", e.parent, ",\"thread\":", e.thread, ",\"sequence\":", e.sequence,
                 ",\"device\":", json::quoted(e.device ? to_string(e.device) : std::string("cpu")),
                 ",\"begin_us\":", number(e.begin_us), measures_json(e), "}");
  };
  for (const ProfileEvent& e : profile.events) write(e, kind_name(e.kind));
  for (const ProfileActivity& a : profile.activities) {
    ProfileEvent e;
    e.name = a.name;
    e.parent = a.event;
    e.thread = a.stream;
    e.device = a.device;
    e.begin_us = a.begin_us;
    e.of_device = {a.length_us, a.length_us};
    write(e, a.category());
  }
  for (const ProfileTransfer& t : profile.transfers) {
    ProfileEvent e;
    e.name = t.name;
    e.parent = t.event;
    e.thread = t.lane;
    e.begin_us = t.begin_us;
    e.host = {t.length_us, t.length_us};
    write(e, "communication");
  }
  return "[" + out + "]";
}

}  // namespace flambeau::observe
