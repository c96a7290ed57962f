// A device as a value: type and index. Equals the ABI's flam_device bit for bit: type << 16 |
// (index + 1), where index -1 (low bits 0) means "the current device of that type" and 0 as a whole
// "unspecified".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace flambeau {

// DLPack's numbers; it has none for meta, whose tensors have a shape and no elements.
enum class DeviceType : int16_t { none = 0, cpu = 1, cuda = 2, sim = 12, meta = 64 };

struct Device {
  DeviceType type = DeviceType::none;
  int16_t index = -1;

  friend bool operator==(Device, Device) = default;
  explicit operator bool() const { return type != DeviceType::none; }
  bool is_cpu() const { return type == DeviceType::cpu; }
  bool is_meta() const { return type == DeviceType::meta; }
  bool is_accelerator() const { return type == DeviceType::cuda || type == DeviceType::sim; }

  int32_t code() const { return int32_t(type) << 16 | int32_t(index + 1); }
  static Device from_code(int32_t code) {
    return {DeviceType(code >> 16), int16_t((code & 0xffff) - 1)};
  }
};

// Types of one device, which prints without its index.
inline constexpr Device kCpu{DeviceType::cpu, 0}, kMeta{DeviceType::meta, 0};

// Whether there is such a type, of however many devices.
constexpr bool is_known(DeviceType t) {
  return t == DeviceType::cpu || t == DeviceType::cuda || t == DeviceType::sim ||
         t == DeviceType::meta;
}

std::string to_string(Device d);          // "cpu", "cuda:0", "cuda"
Device parse_device(std::string_view s);  // throws Error(invalid argument) with the accepted forms

}  // namespace flambeau
