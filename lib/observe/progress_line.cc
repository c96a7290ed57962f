// A moment of the work as one line of text and as one line of JSON.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "base/json.h"
#include "observe/progress_sinks.h"

namespace flambeau::observe {
namespace {

std::string printed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// 12345 as "12,345"; small rates keep their fraction.
std::string count_text(double value) {
  if (value < 10) return printed("%.2f", value);
  std::string digits = printed("%.0f", value);
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3) digits.insert(size_t(at), ",");
  return digits;
}

std::string duration(double seconds) {
  const auto whole = int64_t(std::llround(seconds));
  char text[40];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(whole / 3600),
                  int(whole / 60 % 60), int(whole % 60));
  else
    std::snprintf(text, sizeof text, "%d:%02d", int(whole / 60), int(whole % 60));
  return text;
}

std::string size_text(int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = double(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  return printed(unit ? "%.1f " : "%.0f ", value) + units[unit];
}

std::string repeated(const char* text, int64_t n) {
  std::string out;
  for (int64_t i = 0; i < n; ++i) out += text;
  return out;
}

std::string bar(const ProgressState& s, const LineLook& look, int64_t width) {
  const int64_t full = std::clamp<int64_t>(width * s.done / s.total, 0, width);
  const char* const done = look.unicode ? "━" : "#";
  const char* const left = look.unicode ? (look.color ? "━" : "╌") : "-";
  if (!look.color) return repeated(done, full) + repeated(left, width - full);
  return "\x1b[33m" + repeated(done, full) + "\x1b[90m" + repeated(left, width - full) + "\x1b[0m";
}

std::string facts_text(const ProgressState& s) {
  std::string out;
  if (s.total > 0) {
    char percent[16];
    std::snprintf(percent, sizeof percent, "%3d %%", int(100 * s.done / s.total));
    out = percent;
  } else {
    out = count_text(double(s.done)) + (s.unit.empty() ? "" : " " + s.unit);
  }
  out += "  " + count_text(s.rate) + (s.unit.empty() ? "" : " " + s.unit) + "/s";
  for (const auto& [name, value] : s.values) out += "  " + name + printed(" %.4f", value);
  if (s.memory >= 0) out += "  memory " + size_text(s.memory);
  if (s.left >= 0) out += "  " + duration(s.left) + " left";
  return out;
}

}  // namespace

std::string progress_line(const ProgressState& s, const LineLook& look) {
  const std::string facts = facts_text(s);
  if (s.total <= 0) return facts;
  const int64_t room = look.columns - std::ssize(facts) - 4;
  return room < 8 ? facts : bar(s, look, std::min<int64_t>(room, 32)) + "  " + facts;
}

std::string progress_json(const ProgressState& s, const char* event) {
  std::string out =
      cat_text("{\"event\":", json::quoted(event), ",\"done\":", s.done,
               ",\"elapsed\":", json::number(s.elapsed), ",\"rate\":", json::number(s.rate));
  if (s.total > 0) out += cat_text(",\"total\":", s.total);
  if (s.left >= 0) out += ",\"left\":" + json::number(s.left);
  if (s.memory >= 0) out += cat_text(",\"memory\":", s.memory);
  std::string values;
  for (const auto& [name, value] : s.values)
    values += cat_text(values.empty() ? "" : ",", json::quoted(name), ":", json::number(value));
  return out + ",\"values\":{" + values + "}}";
}

}  // namespace flambeau::observe
