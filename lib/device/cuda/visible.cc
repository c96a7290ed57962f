// A list of numbers and UUIDs, of which a beginning is enough. It ends at the first entry that
// names no GPU; one that is named twice leaves none at all (CUDA Programming Guide, environment
// variables).
#include "device/cuda/visible.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace flambeau::cuda {
namespace {

// The GPU that an entry names; the number of GPUs where it names none, or several.
size_t named(std::string_view entry, std::span<const std::string> uuids) {
  if (entry.starts_with("GPU-")) {
    const auto fits = [&](const std::string& uuid) { return uuid.starts_with(entry); };
    const auto at = std::ranges::find_if(uuids, fits);
    return std::ranges::count_if(uuids, fits) == 1 ? size_t(at - uuids.begin()) : uuids.size();
  }
  size_t number = uuids.size();  // what follows the digits does not count
  std::from_chars(entry.data(), entry.data() + entry.size(), number);
  return std::min(number, uuids.size());
}

}  // namespace

std::optional<size_t> visible_devices(const char* variable, std::span<const std::string> uuids) {
  if (!variable) return uuids.size();
  std::string_view rest = variable;
  std::vector<size_t> found;
  for (bool more = !rest.empty(); more;) {
    const size_t comma = rest.find(',');
    std::string_view entry = rest.substr(0, comma);
    more = comma != rest.npos;
    rest.remove_prefix(more ? comma + 1 : rest.size());
    entry.remove_prefix(std::min(entry.find_first_not_of(" \t"), entry.size()));
    if (entry.starts_with("MIG-")) return std::nullopt;
    const size_t gpu = named(entry.substr(0, entry.find_last_not_of(" \t") + 1), uuids);
    if (gpu == uuids.size()) break;
    if (std::ranges::find(found, gpu) != found.end()) return 0;
    found.push_back(gpu);
  }
  return found.size();
}

}  // namespace flambeau::cuda
