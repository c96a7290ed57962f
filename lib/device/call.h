// The only way common code calls a provider: counts the call for fault injection and turns a bad
// Status into an Error that names the call and the device.
#pragma once
#include "device/fault.h"
#include "device/fork.h"
#include "device/hal.h"

namespace flambeau::hal {

const Table& table_of(Device d);  // the provider of an existing device
[[noreturn]] void raise(Device d, const char* what, Status status);

// `F` is a member of Table: try_call<&Table::stream_query>(device, native) returns the Status.
template <auto F, class... Args>
Status try_call(Device d, Args&&... args) {
  if (fault::g_armed.load(std::memory_order_relaxed) && fault::hal_call_fails()) [[unlikely]]
    return Status::internal;
  if (!d.is_cpu() && !fork::may_use()) [[unlikely]]
    return Status::forked;
  return (table_of(d).*F)(d.index, static_cast<Args&&>(args)...);
}

template <auto F, class... Args>
void call(Device d, const char* what, Args&&... args) {
  const Status status = try_call<F>(d, static_cast<Args&&>(args)...);
  if (status != Status::ok) [[unlikely]]
    raise(d, what, status);
}

}  // namespace flambeau::hal
