// C++ side of include/flambeau/device.h: the targets of its C functions.
#pragma once
#include <cstdint>
#include <string_view>
#include <tuple>

#include "base/device.h"

namespace flambeau::capi {

Device device_parse(std::string_view text);
Device device_make(int32_t type, int32_t index);
int32_t device_type_of(Device device);
int32_t device_index_of(Device device);
const char* device_name(Device device);

int32_t device_count(int32_t type);
bool device_is_available(int32_t type);
const char* device_unavailable_reason(int32_t type);
const char* cuda_unavailable_reason();
const char* device_model(Device device);
int64_t device_total_memory(Device device);
int32_t device_multiprocessors(Device device);
std::tuple<int32_t, int32_t> device_capability(Device device);
std::tuple<int64_t, int64_t> device_memory_info(Device device);
bool device_can_access_peer(Device device, Device peer);

Device device_current(int32_t type);
void device_set_current(Device device);
uint64_t device_push(Device device);
void device_synchronize(Device device);

int32_t get_num_threads();
void set_num_threads(int32_t num_threads);
void set_deterministic_enabled(bool enabled);
bool deterministic_enabled();
void set_deterministic_warn_only_enabled(bool enabled);
bool deterministic_warn_only_enabled();
void set_deterministic_fill_enabled(bool enabled);
bool deterministic_fill_enabled();
void library_directory_add(std::string_view path);
const char* library_report();
void sim_report_host_access(int32_t file_descriptor);

}  // namespace flambeau::capi
