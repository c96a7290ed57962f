// The device of tensors without elements: every call succeeds and does nothing, so that shapes,
// dtypes and the graph of gradients are all that an op leaves. Its memory is addresses of no
// machine (memory.cc), and copies out of it are refused before they come here (copy.cc).
#include "device/hal.h"

namespace flambeau::hal {
namespace {

// Stands in for each function of the table, whatever that takes.
template <Status status> struct Always {
  template <class... A> using Function = Status (*)(A...);
  template <class... A> constexpr operator Function<A...>() const {
    return [](A...) { return status; };
  }
};
constexpr Always<Status::ok> kNothing;
constexpr Always<Status::unsupported> kRefused;

void add_streams(Table& t) {
  t.stream_create = [](int, int, void** out) {
    *out = nullptr;
    return Status::ok;
  };
  t.stream_destroy = kNothing;
  t.stream_query = kNothing;
  t.stream_synchronize = kNothing;
  t.stream_wait = kNothing;
  t.event_create = [](int, bool, void** out) {
    *out = nullptr;
    return Status::ok;
  };
  t.event_destroy = kNothing;
  t.event_record = kNothing;
  t.event_query = kNothing;
  t.event_synchronize = kNothing;
  t.event_elapsed = [](int, void*, void*, float* milliseconds) {
    *milliseconds = 0;
    return Status::ok;
  };
}

void add_graphs(Table& t) {
  t.capture_begin = kRefused;
  t.capture_end = kRefused;
  t.capture_active = [](int, void*, bool* out) {
    *out = false;
    return Status::ok;
  };
  t.graph_launch = kRefused;
  t.graph_destroy = kRefused;
}

Table make_table() {
  Table t{};
  t.name = "meta";
  t.device_count = [] { return 1; };
  t.availability = kNothing;
  t.properties = [](int, Properties* out) {
    *out = {};
    out->name = "meta";
    return Status::ok;
  };
  t.memory_info = [](int, size_t* free_bytes, size_t* total_bytes) {
    *free_bytes = *total_bytes = 0;
    return Status::ok;
  };
  t.synchronize = kNothing;
  t.allocate = kRefused;
  t.deallocate = kNothing;
  t.allocate_host = kRefused;
  t.deallocate_host = kNothing;
  t.note_block = kNothing;
  t.is_pageable = [](int, const void*, bool* out) {
    *out = true;
    return Status::ok;
  };
  t.copy = kNothing;
  t.fill = kNothing;
  t.can_access_peer = [](int, int, bool* out) {
    *out = true;
    return Status::ok;
  };
  add_streams(t);
  t.launch = kNothing;
  t.host_function = [](int, void*, void (*fn)(void*), void* user) {
    fn(user);
    return Status::ok;
  };
  add_graphs(t);
  t.error_text = [](int) { return std::string(); };
  t.kernel_column = [](int) { return KernelColumn::host; };
  return t;
}

}  // namespace

const Table& meta_table() {
  static const Table table = make_table();
  return table;
}

}  // namespace flambeau::hal
