// Parsing and printing of sizes.
#include "device/bytes.h"

#include <cctype>
#include <charconv>
#include <cstdio>

namespace flambeau {
namespace {

constexpr char kUnits[] = "KMGT";

}  // namespace

std::optional<size_t> parse_bytes(std::string_view text) {
  size_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{}) return std::nullopt;
  std::string unit;
  for (char c : text.substr(size_t(end - text.data())))
    if (c != ' ') unit += char(std::toupper(static_cast<unsigned char>(c)));
  if (unit.empty() || unit == "B") return value;
  for (int i = 0; i < 4; ++i) {
    const std::string k(1, kUnits[i]);
    if (unit != k && unit != k + "B" && unit != k + "IB") continue;
    const int shift = 10 * (i + 1);
    if (value > (SIZE_MAX >> shift)) return std::nullopt;
    return value << shift;
  }
  return std::nullopt;
}

std::string format_bytes(int64_t bytes) {
  char text[32];
  double value = double(bytes);
  int unit = -1;
  while (value >= 1024 && unit < 3) value /= 1024, ++unit;
  if (unit < 0)
    std::snprintf(text, sizeof text, "%lld B", static_cast<long long>(bytes));
  else
    std::snprintf(text, sizeof text, "%.2f %ciB", value, kUnits[unit]);
  return text;
}

}  // namespace flambeau
