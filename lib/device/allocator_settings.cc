// Parsing of the settings; see allocator_settings.h.
#include "device/allocator_settings.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "device/allocator.h"

namespace flambeau {
namespace {

constexpr size_t kMiB = size_t(1) << 20;

template <class T>
bool number(std::string_view text, T low, T high, T& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc{} && end == text.data() + text.size() && out >= low && out <= high;
}

// Up to the next `mark` that stands in no brackets; takes it off.
std::string_view next_item(std::string_view& text, char mark) {
  size_t end = 0;
  for (int depth = 0; end < text.size() && (depth > 0 || text[end] != mark); ++end)
    depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
  const std::string_view item = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return item;
}

// "8", or "[256:1,512:2,>:4]": by sizes in MiB, `>` for all that are larger.
bool divisions(std::string_view text, std::array<uint16_t, 16>& out) {
  const auto parse = [](std::string_view n, uint16_t& to) {
    return number<uint16_t>(n, 0, 1024, to) && std::popcount(to) <= 1;
  };
  uint16_t steps = 0;
  if (!text.starts_with('[')) return parse(text, steps) && (out.fill(steps), true);
  if (!text.ends_with(']')) return false;
  text = text.substr(1, text.size() - 2);
  for (size_t at = 0; !text.empty();) {
    std::string_view pair = next_item(text, ',');
    const std::string_view key = next_item(pair, ':');
    size_t size = 0;
    const bool rest = key == ">";
    if (!parse(pair, steps) ||
        (!rest && !(number<size_t>(key, 1, 1 << 15, size) && std::has_single_bit(size))))
      return false;
    const size_t index = rest ? out.size() - 1 : size_t(std::countr_zero(size));
    if (index < at) return false;
    std::fill(out.begin() + ptrdiff_t(at), out.begin() + ptrdiff_t(index) + 1, steps);
    at = index + 1;
  }
  return true;
}

bool set(std::string_view key, std::string_view value, AllocatorSettings& s) {
  if (key == "backend") return value == "native";
  if (key == "expandable_segments") {
    s.expandable_segments = value == "True";
    return value == "True" || value == "False";
  }
  if (key == "garbage_collection_threshold")
    return number(value, 1e-9, 1 - 1e-9, s.garbage_collection_threshold);
  if (key == "roundup_power2_divisions") return divisions(value, s.roundup_power2_divisions);
  if (key != "max_split_size_mb" || !number<size_t>(value, 21, SIZE_MAX / kMiB, s.max_split_size))
    return false;
  s.max_split_size *= kMiB;
  return true;
}

std::mutex g_mutex;
std::optional<AllocatorSettings>& settled() {
  static auto& settings = *new std::optional<AllocatorSettings>;
  return settings;
}

}  // namespace

size_t AllocatorSettings::rounding_step(size_t bytes, size_t alignment) const {
  const int power = std::bit_width(bytes) - 1;
  const size_t steps = roundup_power2_divisions[size_t(std::clamp(power - 20, 0, 15))];
  return steps > 1 && bytes > alignment * steps ? (size_t(1) << power) / steps : 0;
}

AllocatorSettings parse_settings(std::string_view given) {
  AllocatorSettings s;
  std::string plain(given);
  std::erase(plain, ' ');
  std::string_view text = plain;
  while (!text.empty()) {
    const std::string_view item = next_item(text, ',');
    std::string_view value = item;
    const std::string_view key = next_item(value, ':');
    check(set(key, value, s), Code::invalid_argument, "allocator settings have \"", item,
          "\"; accepted are expandable_segments:True|False, max_split_size_mb:N (above 20), "
          "garbage_collection_threshold:X (between 0 and 1), roundup_power2_divisions:N or "
          "[256:N,512:N,>:N] (powers of two), backend:native, separated by commas");
  }
  return s;
}

std::string settings_json(const AllocatorSettings& s) {
  std::string steps;
  for (const int n : s.roundup_power2_divisions) steps += cat_text(steps.empty() ? "" : ",", n);
  return cat_text(
      "{\"max_split_size\":", s.max_split_size == SIZE_MAX ? -1 : int64_t(s.max_split_size),
      ",\"garbage_collection_threshold\":", s.garbage_collection_threshold,
      ",\"expandable_segments\":", s.expandable_segments ? "true" : "false",
      ",\"roundup_power2_divisions\":[", steps, "]}");
}

namespace {

// Under g_mutex.
const AllocatorSettings& current() {
  if (settled()) return *settled();
  for (const char* text : {std::getenv("FLAMBEAU_ALLOC_CONF"), std::getenv("PYTORCH_ALLOC_CONF"),
                           std::getenv("PYTORCH_CUDA_ALLOC_CONF")})
    if (text && *text && !settled()) settled() = parse_settings(text);
  if (!settled()) settled().emplace();
  return *settled();
}

}  // namespace

AllocatorSettings allocator_settings() {
  const std::lock_guard lock(g_mutex);
  return current();
}

void configure_as_set(CachingAllocator& allocator) {
  const std::lock_guard lock(g_mutex);
  allocator.configure(current());
}

void set_allocator_settings(const AllocatorSettings& settings) {
  const std::lock_guard lock(g_mutex);  // so that the later of two calls settles all
  settled() = settings;
  for (CachingAllocator* a : all_allocators()) a->configure(settings);
}

}  // namespace flambeau
