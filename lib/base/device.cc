// Text of a device and back. The accepted forms are torch's: "cpu", "cuda", "cuda:1", and "sim:0".
#include "base/device.h"

#include <charconv>

#include "base/error.h"

namespace flambeau {
namespace {

struct TypeName {
  std::string_view text;
  DeviceType type;
};
constexpr TypeName kTypeNames[] = {{"cpu", DeviceType::cpu},
                                   {"cuda", DeviceType::cuda},
                                   {"sim", DeviceType::sim},
                                   {"meta", DeviceType::meta}};

bool is_single(DeviceType type) { return type == DeviceType::cpu || type == DeviceType::meta; }

[[noreturn]] void bad_device(std::string_view s, const char* why) {
  throw Error(Code::invalid_argument, cat_text("device \"", s, "\" ", why), {},
              "accepted: \"cpu\", \"cuda\", \"cuda:0\", \"sim\", \"sim:0\", \"meta\"");
}

}  // namespace

std::string to_string(Device d) {
  if (!d) return "none";
  for (const TypeName& t : kTypeNames) {
    if (t.type != d.type) continue;
    if (is_single(d.type) || d.index < 0) return std::string(t.text);
    return cat_text(t.text, ':', d.index);
  }
  return cat_text("device type ", int(d.type), ':', d.index);
}

Device parse_device(std::string_view s) {
  const size_t colon = s.find(':');
  const std::string_view kind = s.substr(0, colon);
  for (const TypeName& t : kTypeNames) {
    if (t.text != kind) continue;
    Device d{t.type, int16_t(is_single(t.type) ? 0 : -1)};
    if (colon == s.npos) return d;
    const std::string_view number = s.substr(colon + 1);
    int16_t index = -1;
    const auto [end, problem] =
        std::from_chars(number.data(), number.data() + number.size(), index);
    if (problem != std::errc{} || end != number.data() + number.size() || index < 0 ||
        number[0] == '-')
      bad_device(s, "has no valid index after ':'");
    if (is_single(t.type) && index != 0) bad_device(s, "does not exist: there is one");
    d.index = index;
    return d;
  }
  bad_device(s, "is of no known type");
}

}  // namespace flambeau
