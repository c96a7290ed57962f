// The timeline as one HTML page: drawn here as SVG, so that it is complete without a script; the
// script adds what is under the pointer and other groupings of the table. Long recordings are drawn
// by the highest and the last moment of each stretch, so that no peak is lost.
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/json.h"
#include "device/allocator.h"
#include "device/front.h"
#include "observe/memory_timeline.h"
#include "observe/plot_axis.h"
#include "observe/svg.h"

namespace flambeau::observe {
namespace {

constexpr double kWidth = 1000, kLeft = 84, kRight = 24, kTop = 28, kDown = 260;
constexpr double kAcross = kWidth - kLeft - kRight, kBars = kTop + kDown + 76, kRow = 24;
constexpr size_t kShownHolders = 12, kMostPoints = 4000;

constexpr const char* kStyle =
    "body { font: 14px system-ui, \"Segoe UI\", Helvetica, Arial, sans-serif; color: #1c1917;"
    " margin: 24px auto; max-width: 1000px }\n"
    "h1 { font-size: 20px } h2 { font-size: 16px; margin: 32px 0 4px } p { color: #57534e }\n"
    "table { border-collapse: collapse; width: 100% } th { text-align: left; color: #57534e }\n"
    "td, th { padding: 3px 8px; border-bottom: 1px solid #e7e5e4 }"
    " td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }\n"
    "button { font: inherit; margin: 8px 8px 8px 0 } button.on { font-weight: 600 }\n"
    "#tip { position: fixed; display: none; background: #1c1917; color: #fafaf9; padding: 6px 10px;"
    " border-radius: 4px; white-space: pre; pointer-events: none }\n";
constexpr const char* kSvgStyle =
    "text { font: 12px system-ui, \"Segoe UI\", Helvetica, Arial, sans-serif; fill: #57534e }\n"
    ".grid { stroke: #e7e5e4 } .axis { stroke: #a8a29e } .peak { stroke: #c2410c;"
    " stroke-dasharray: 4 3 } .oom { stroke: #be123c; stroke-width: 2 }\n"
    ".allocated { fill: #0369a1; fill-opacity: .25; stroke: #0369a1; stroke-width: 1.5 }\n"
    ".reserved { fill: none; stroke: #57534e; stroke-width: 1.5 } .bar { fill: #0369a1 }\n"
    ".strong { fill: #1c1917; font-weight: 600 } .cursor { stroke: #1c1917; visibility: hidden }\n";
constexpr const char* kScript = R"js(
const tip = document.getElementById("tip");
const size = n => { let u = 0, v = Math.abs(n); while (v >= 1024 && u < 4) { v /= 1024; u++ }
  return (n < 0 ? "-" : "") + (u ? v.toFixed(1) : v) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][u] };
const cell = (row, text, kind) => { const c = row.insertCell(); c.textContent = text;
  if (kind) c.className = kind };
for (const d of DATA) {
  const svg = document.getElementById("chart" + d.id), line = svg.querySelector(".cursor");
  svg.addEventListener("mousemove", e => {
    const box = svg.getBoundingClientRect(), x = (e.clientX - box.left) * WIDTH / box.width;
    const t = (x - LEFT) / ACROSS * d.length;
    let low = 0, high = d.points.length - 1;
    while (low < high) { const m = low + high + 1 >> 1;
      d.points[m][0] <= t ? low = m : high = m - 1 }
    const [at, allocated, reserved, change, what, label] = d.points[low];
    const px = LEFT + ACROSS * at / d.length;
    line.setAttribute("x1", px); line.setAttribute("x2", px); line.style.visibility = "visible";
    tip.style.display = "block";
    tip.style.left = Math.min(e.clientX + 14, innerWidth - 300) + "px";
    tip.style.top = e.clientY + 14 + "px";
    tip.textContent = (at / 1e3).toFixed(3) + " ms\nallocated " + size(allocated) + "\nreserved "
      + size(reserved) + "\n" + what + " " + size(change) + (label ? "\n" + d.labels[label] : "");
  });
  svg.addEventListener("mouseleave", () => { tip.style.display = "none";
    line.style.visibility = "hidden" });
  const table = document.getElementById("table" + d.id);
  const buttons = document.getElementById("by" + d.id);
  const show = (keys, button) => {
    const groups = new Map();
    for (const h of d.holders) { const key = keys.map(k => h[k]).join("\n");
      const g = groups.get(key) || { bytes: 0, count: 0, of: h };
      g.bytes += h.bytes; g.count += h.count; groups.set(key, g) }
    const body = table.tBodies[0]; body.replaceChildren();
    for (const g of [...groups.values()].sort((a, b) => b.bytes - a.bytes)) {
      const row = body.insertRow();
      cell(row, size(g.bytes), "n"); cell(row, (100 * g.bytes / d.peak).toFixed(1) + " %", "n");
      cell(row, g.count, "n");
      for (const k of ["module", "op", "shape"]) cell(row, keys.includes(k) ? g.of[k] || "-" : "") }
    for (const b of buttons.children) b.className = b === button ? "on" : "";
  };
  for (const [text, keys] of [["each", ["module", "op", "shape"]], ["by module", ["module"]],
      ["by op", ["op"]], ["by shape", ["shape"]]]) {
    const b = document.createElement("button"); b.textContent = text;
    b.onclick = () => show(keys, b); buttons.append(b);
    if (text === "each") b.className = "on" }
}
)js";

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

const char* action_text(TraceAction a) {
  constexpr const char* names[] = {"allocated", "freed",     "freed",
                                   "reserved",  "gave back", "out of memory, wanted"};
  return names[int(a)];
}

std::string label_text(const Label& l) {
  std::string out;
  for (const char* part : {l.module, l.op, l.shape})
    if (part) out += cat_text(out.empty() ? "" : "  ", part);
  return out;
}

// At most kMostPoints: of every stretch the highest moment, the last, and what ran out of memory.
std::vector<TimelinePoint> thinned(const std::vector<TimelinePoint>& all) {
  if (all.size() <= kMostPoints) return all;
  const size_t stretch = all.size() / (kMostPoints / 2) + 1;
  std::vector<TimelinePoint> kept;
  for (size_t i = 0; i < all.size(); i += stretch) {
    const size_t end = std::min(i + stretch, all.size());
    const auto first = all.begin() + std::ptrdiff_t(i), last = all.begin() + std::ptrdiff_t(end);
    const auto highest = std::max_element(
        first, last, [](const auto& a, const auto& b) { return a.allocated < b.allocated; });
    for (auto p = first; p != last; ++p)
      if (p == highest || p + 1 == last || p->action == TraceAction::oom) kept.push_back(*p);
  }
  return kept;
}

class Chart {
 public:
  Chart(const Timeline& t, size_t id) : t_(t), points_(thinned(t.points)), id_(id) {
    begin_ = t.points.front().time_us;
    length_ = double(std::max<int64_t>(t.points.back().time_us - begin_, 1));
    int64_t most = 1;
    for (const TimelinePoint& p : points_) most = std::max({most, p.allocated, p.reserved});
    unit_ = 1;
    while (double(most) / unit_ >= 1024) unit_ *= 1024;
    y_ = Axis::linear(0, double(most) / unit_);
    x_ = Axis::tight(0, length_ / 1e3);
  }

  std::string html() const {
    const TimelinePoint& peak = t_.points[t_.peak];
    const std::string percent =
        svg::pixels(100 * double(peak.allocated) / double(std::max<int64_t>(peak.reserved, 1)));
    return cat_text("<h2>", svg::escaped(to_string(t_.device)), "</h2>\n<p>", t_.points.size(),
                    " events in ", mark_text(length_ / 1e6), " s; at the peak ",
                    bytes_text(double(peak.allocated)), " in use of ",
                    bytes_text(double(peak.reserved)), " reserved (", percent, " %)</p>\n",
                    picture(), "<div id=\"by", id_, "\"></div>\n", table());
  }

  std::string data() const {
    std::string points, labels = "\"\"", holders;
    size_t names = 0;
    for (const TimelinePoint& p : points_) {
      const std::string label = label_text(p.label);
      if (!label.empty()) labels += "," + json::quoted(label);
      points += cat_text(points.empty() ? "[" : ",[", p.time_us - begin_, ",", p.allocated, ",",
                         p.reserved, ",", p.change, ",\"", action_text(p.action), "\",",
                         label.empty() ? 0 : ++names, "]");
    }
    for (const Holder& h : t_.holders)
      holders += cat_text(holders.empty() ? "" : ",", "{\"module\":", json::quoted(h.module),
                          ",\"op\":", json::quoted(h.op), ",\"shape\":", json::quoted(h.shape),
                          ",\"bytes\":", h.bytes, ",\"count\":", h.count, "}");
    return cat_text("{\"id\":", id_, ",\"length\":", length_,
                    ",\"peak\":", std::max<int64_t>(t_.points[t_.peak].allocated, 1),
                    ",\"points\":[", points, "],\"labels\":[", labels, "],\"holders\":[", holders,
                    "]}");
  }

 private:
  double x(const TimelinePoint& p) const {
    return kLeft + kAcross * double(p.time_us - begin_) / length_;
  }
  double y(int64_t bytes) const { return kTop + kDown * (1 - y_.place(double(bytes) / unit_)); }

  // A value holds until the next event.
  std::string steps(int64_t TimelinePoint::* value) const {
    std::string path;
    double before = 0;
    for (const TimelinePoint& p : points_) {
      const double at = y(p.*value);
      if (path.empty())
        path = cat_text("M", svg::pixels(x(p)), " ", svg::pixels(at));
      else if (svg::pixels(at) != svg::pixels(before))
        path += cat_text("H", svg::pixels(x(p)), "V", svg::pixels(at));
      before = at;
    }
    return path + "H" + svg::pixels(kLeft + kAcross);
  }

  std::string axes() const {
    std::string out;
    for (const double mark : y_.marks()) {
      const double at = kTop + kDown * (1 - y_.place(mark));
      out += svg::line(kLeft, at, kLeft + kAcross, at, "grid");
      out += svg::text(kLeft - 8, at + 4, bytes_text(mark * unit_), "", "end");
    }
    out += svg::line(kLeft, kTop + kDown, kLeft + kAcross, kTop + kDown, "axis");
    for (const double mark : x_.marks())
      out += svg::text(kLeft + kAcross * x_.place(mark), kTop + kDown + 18, mark_text(mark), "",
                       "middle");
    return out + svg::text(kLeft + kAcross / 2, kTop + kDown + 36, "milliseconds", "", "middle");
  }

  std::string curves() const {
    const double floor = kTop + kDown;
    std::string out =
        cat_text("<path class=\"allocated\" d=\"", steps(&TimelinePoint::allocated), "V",
                 svg::pixels(floor), "H", svg::pixels(kLeft), "Z\"/>\n",
                 "<path class=\"reserved\" d=\"", steps(&TimelinePoint::reserved), "\"/>\n");
    for (const TimelinePoint& p : points_)
      if (p.action == TraceAction::oom) out += svg::line(x(p), kTop, x(p), floor, "oom");
    const TimelinePoint& peak = t_.points[t_.peak];
    const bool right = x(peak) > kWidth / 2;
    out += svg::line(x(peak), kTop - 8, x(peak), floor, "peak");
    return out + svg::text(x(peak) + (right ? -6 : 6), kTop - 10,
                           "peak " + bytes_text(double(peak.allocated)), "strong",
                           right ? "end" : "start");
  }

  std::string legend() const {
    return cat_text("<rect x=\"", kLeft,
                    "\" y=\"4\" width=\"14\" height=\"10\" class=\"allocated\"/>",
                    svg::text(kLeft + 20, 13, "allocated"),
                    svg::line(kLeft + 96, 9, kLeft + 110, 9, "reserved"),
                    svg::text(kLeft + 116, 13, "reserved"));
  }

  std::string bars() const {
    const size_t n = std::min(t_.holders.size(), kShownHolders);
    std::string out =
        svg::text(kLeft, kBars - 12, "Held at the peak, by module, op and shape", "strong");
    const double most = n ? double(std::max<int64_t>(t_.holders[0].bytes, 1)) : 1, length = 320;
    for (size_t i = 0; i < n; ++i) {
      const Holder& h = t_.holders[i];
      const double top = kBars + kRow * double(i);
      std::string name;
      for (const std::string* part : {&h.module, &h.op, &h.shape})
        if (!part->empty()) name += (name.empty() ? "" : "  ") + *part;
      const std::string text = name.empty() ? "without a name" : name;
      out += cat_text("<g><title>", svg::escaped(text), ": ", h.count, " blocks, ", h.bytes,
                      " bytes</title><rect class=\"bar\" x=\"", kLeft, "\" y=\"", svg::pixels(top),
                      "\" width=\"", svg::pixels(std::max(1.0, length * double(h.bytes) / most)),
                      "\" height=\"16\"/>\n");
      out += svg::text(kLeft - 8, top + 13, bytes_text(double(h.bytes)), "", "end");
      out += svg::text(kLeft + length * double(h.bytes) / most + 8, top + 13, text) + "</g>\n";
    }
    return out;
  }

  std::string picture() const {
    const double height = kBars + kRow * double(std::min(t_.holders.size(), kShownHolders)) + 12;
    return cat_text("<svg id=\"chart", id_,
                    "\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", height,
                    "\" width=\"100%\">\n<style>", kSvgStyle, "</style>\n", legend(), axes(),
                    curves(), bars(), svg::line(0, kTop, 0, kTop + kDown, "cursor"), "</svg>\n");
  }

  std::string table() const {
    std::string rows;
    const auto peak = double(std::max<int64_t>(t_.points[t_.peak].allocated, 1));
    const auto cell = [](const std::string& text) {
      return "<td>" + (text.empty() ? "-" : svg::escaped(text)) + "</td>";
    };
    for (const Holder& h : t_.holders)
      rows += cat_text("<tr><td class=\"n\">", bytes_text(double(h.bytes)), "</td><td class=\"n\">",
                       svg::pixels(100 * double(h.bytes) / peak), " %</td><td class=\"n\">",
                       h.count, "</td>", cell(h.module), cell(h.op), cell(h.shape), "</tr>\n");
    return cat_text("<table id=\"table", id_,
                    "\"><thead><tr><th class=\"n\">bytes</th><th class=\"n\">share</th>",
                    "<th class=\"n\">blocks</th><th>module</th><th>op</th><th>shape</th></tr>",
                    "</thead><tbody>\n", rows, "</tbody></table>\n");
  }

  const Timeline& t_;
  std::vector<TimelinePoint> points_;
  size_t id_;
  int64_t begin_ = 0;
  double length_ = 1, unit_ = 1;
  Axis x_, y_;
};

}  // namespace

std::string timeline_html() {
  front_flush();
  std::string charts, data;
  size_t id = 0;
  for (CachingAllocator* a : all_allocators()) {
    const Timeline t = timeline_of(*a);
    if (t.points.empty()) continue;
    const Chart chart(t, id++);
    charts += chart.html();
    data += (data.empty() ? "" : ",\n") + chart.data();
  }
  check(id > 0, Code::invalid_argument, "no memory events were recorded: call ",
        "flam_memory_record_history(100000) before what is to be seen");
  for (size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3)
    data.replace(at, 2, "<\\/");  // a name must not end the script
  return cat_text("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
                  "<title>flambeau: memory over time</title>\n<style>", kStyle,
                  "</style></head><body>\n<h1>Memory over time</h1>\n", charts,
                  "<div id=\"tip\"></div>\n<script>\nconst WIDTH = ", kWidth, ", LEFT = ", kLeft,
                  ", ACROSS = ", kAcross, ";\nconst DATA = [", data, "];", kScript,
                  "</script>\n</body></html>\n");
}

}  // namespace flambeau::observe
