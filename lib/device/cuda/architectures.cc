// See architectures.h.
#include "device/cuda/architectures.h"

#include <charconv>

namespace flambeau::cuda {
namespace {

bool runs(std::string_view one, int major, int minor) {
  if (one == "native" || one.starts_with("all")) return true;
  int number = 0;
  const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), number);
  if (error != std::errc()) return false;
  const std::string_view rest = one.substr(size_t(end - one.data()));
  const int device = major * 10 + minor;
  if (rest.starts_with("a")) return number == device;  // neither older nor newer ones
  const bool real = rest != "-virtual", virtual_too = rest != "-real";
  return (real && number / 10 == major && number <= device) || (virtual_too && number <= device);
}

}  // namespace

bool has_code(std::string_view architectures, int major, int minor) {
  while (!architectures.empty()) {
    const size_t end = architectures.find(',');
    if (runs(architectures.substr(0, end), major, minor)) return true;
    architectures.remove_prefix(end == architectures.npos ? architectures.size() : end + 1);
  }
  return false;
}

}  // namespace flambeau::cuda
