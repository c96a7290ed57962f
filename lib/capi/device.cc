// Targets of device.h; see there.

#include "base/error.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "capi/scope_stack.h"
#include "device/call.h"
#include "device/devices.h"
#include "device/library.h"
#include "device/runtime.h"
#include "device/sim/control.h"
#include "flambeau/common.h"
#include "kernels/deterministic.h"
#include "kernels/gemm/precision.h"

namespace flambeau::capi {
namespace {

// The properties of a device, or empty ones where it does not exist.
DeviceProperties quiet_properties(Device d) noexcept {
  return or_else(DeviceProperties{}, [&] { return flambeau::device_properties(d); });
}

bool is_type(int32_t type) { return type == int16_t(type) && is_known(DeviceType(type)); }

}  // namespace

Device device_parse(std::string_view text) { return parse_device(text); }

Device device_make(int32_t type, int32_t index) {
  if (!is_type(type) || index > INT16_MAX) return {};
  return {DeviceType(type), int16_t(type == FLAM_CPU || type == FLAM_META ? 0
                                    : index < 0                           ? -1
                                                                          : index)};
}

int32_t device_type_of(Device device) { return int32_t(device.type); }
int32_t device_index_of(Device device) { return device.index; }

const char* device_name(Device device) {
  return borrowed_text([&] { return to_string(device); });
}

int32_t device_count(int32_t type) {
  return or_else(0, [&] { return is_type(type) ? flambeau::device_count(DeviceType(type)) : 0; });
}

bool device_is_available(int32_t type) { return device_count(type) > 0; }

const char* device_unavailable_reason(int32_t type) {
  return borrowed_text([&] {
    return is_type(type) ? unavailable_reason(DeviceType(type))
                         : cat_text("there is no device type ", type);
  });
}

const char* cuda_unavailable_reason() {
  return borrowed_text([] { return unavailable_reason(DeviceType::cuda); });
}

const char* device_model(Device device) {
  return borrowed_text([&] { return quiet_properties(device).name; });
}

int64_t device_total_memory(Device device) {
  return int64_t(quiet_properties(device).total_memory);
}
int32_t device_multiprocessors(Device device) { return quiet_properties(device).multiprocessors; }

std::tuple<int32_t, int32_t> device_capability(Device device) {
  const DeviceProperties p = flambeau::device_properties(device);
  return {p.major, p.minor};
}

int64_t device_property(Device device, std::string_view key) {
  std::string known;
  for (const NamedProperty& p : numbers_of(flambeau::device_properties(device))) {
    if (key == p.key) return p.value;
    known += cat_text(known.empty() ? "" : ", ", p.key);
  }
  throw Error(Code::invalid_argument,
              cat_text("there is no property \"", key, "\"; there are ", known));
}

const char* device_properties(Device device) {
  return text_of_thread([&] {
    const DeviceProperties p = flambeau::device_properties(device);
    std::string text =
        cat_text("{\"name\": ", json::quoted(p.name), ", \"uuid\": ", json::quoted(p.uuid));
    for (const NamedProperty& n : numbers_of(p)) text += cat_text(", \"", n.key, "\": ", n.value);
    return text += "}";
  });
}

std::tuple<int64_t, int64_t> device_memory_info(Device device) {
  const MemoryInfo info = memory_info(device);
  return {int64_t(info.free), int64_t(info.total)};
}

bool device_can_access_peer(Device device, Device peer) {
  return or_else(false, [&] {
    const Device reader = resolve(device), other = resolve(peer);
    bool can = false;
    if (reader.type == other.type)
      hal::call<&hal::Table::can_access_peer>(reader, "peer access", int(other.index), &can);
    return can;
  });
}

Device device_current(int32_t type) {
  return is_type(type) ? current_device(DeviceType(type)) : Device{};
}
void device_set_current(Device device) { set_current_device(device); }

uint64_t device_push(Device device) {
  device = resolve(device);
  const Device before = current_device(device.type);
  const uint64_t token = push_scope([before] { set_current_device(before); });
  set_current_device(device);
  return token;
}

void device_synchronize(Device device) { synchronize(device); }

void sim_report_host_access(int32_t file_descriptor) {
  sim::report_host_access_to(file_descriptor);
}

int32_t get_num_threads() { return flambeau::get_num_threads(); }
void set_num_threads(int32_t num_threads) { flambeau::set_num_threads(num_threads); }

void set_deterministic_enabled(bool enabled) { deterministic_algorithms = enabled; }
bool deterministic_enabled() { return deterministic_algorithms; }
void set_deterministic_warn_only_enabled(bool enabled) { deterministic_warn_only = enabled; }
bool deterministic_warn_only_enabled() { return deterministic_warn_only; }
void set_deterministic_fill_enabled(bool enabled) { deterministic_fill = enabled; }
bool deterministic_fill_enabled() { return deterministic_fill; }

void set_float32_matmul_precision(int32_t precision) {
  if (precision < FLAM_MATMUL_PRECISION_HIGHEST || precision > FLAM_MATMUL_PRECISION_MEDIUM)
    fail(Code::invalid_argument, "precision must be highest, high or medium (1 to 3), not ",
         precision);
  matmul_precision = MatmulPrecision(precision);
}
int32_t get_float32_matmul_precision() { return int32_t(matmul_precision.load()); }

void library_directory_add(std::string_view path) { add_library_directory(path); }

const char* library_report() {
  return borrowed_text([] { return flambeau::library_report(); });
}

}  // namespace flambeau::capi
