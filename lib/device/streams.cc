// Streams: ids of a device's pool mapped to native handles, the current one per thread and device,
// and the operations that take one. Id 0 is the default stream, 1..32 the pool of normal
// priority, 33..64 the urgent one, further ids are other libraries' streams.
#include "device/streams.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/setting.h"
#include "base/thread_local.h"
#include "base/thread_state.h"
#include "device/call.h"
#include "device/current.h"
#include "device/event.h"
#include "device/graph.h"
#include "device/limits.h"
#include "device/probe_launch.h"

namespace flambeau {
namespace {

using hal::Table;

constexpr uint32_t kPoolSize = 32, kFirstUrgent = 1 + kPoolSize;
static_assert(kFirstExternal == 1 + 2 * kPoolSize);
constexpr uint32_t kMaxExternal = 256;

struct DeviceStreams {
  std::mutex mutex;
  std::array<std::atomic<void*>, kFirstExternal + kMaxExternal> native{};
  uint32_t next[2] = {0, 0}, external = 0;
};

DeviceStreams& streams_of(Device d) {
  static auto& table = *new std::array<DeviceStreams, 2 * kMaxDevices>;
  return table[size_t(device_slot(d))];
}

// Ids fit in 16 bits; a thread's current streams are few enough to stay in static TLS.
FLAM_THREAD_LOCAL uint16_t t_current[2 * kMaxDevices] = {};

class CarriedChoice final : public Carrier {
 public:
  std::any take() const override { return current_choice(); }
  void give(const std::any& taken) const override {
    restore_choice(std::any_cast<const Current&>(taken));
  }
};
const CarriedChoice carried_choice;

bool launch_blocking() {
  static const bool on = [] {
    const char* ours = std::getenv("FLAMBEAU_LAUNCH_BLOCKING");
    const bool given = ours && *ours;  // an empty one hides nothing
    return setting_has(given ? "FLAMBEAU_LAUNCH_BLOCKING" : "CUDA_LAUNCH_BLOCKING", "1");
  }();
  return on;
}

}  // namespace

Stream default_stream(Device d) { return {resolve(d), 0}; }

Stream current_stream(Device d) {
  if (d.is_cpu()) return {kCpu, 0};
  if (d.is_meta()) return {kMeta, 0};
  if (d.index < 0) d = current_device(d.type);
  return {d, t_current[device_slot(d)]};
}

void set_current_stream(Stream s) {
  if (s.device.is_accelerator()) t_current[device_slot(s.device)] = uint16_t(s.id);
}

Current current_choice() {
  Current now{current_device(DeviceType::cuda), current_device(DeviceType::sim), {}};
  std::copy(std::begin(t_current), std::end(t_current), now.streams.begin());
  return now;
}

void restore_choice(const Current& before) noexcept {
  // A device that was current exists, so choosing it again cannot fail.
  if (current_device(DeviceType::cuda) != before.cuda) set_current_device(before.cuda);
  if (current_device(DeviceType::sim) != before.sim) set_current_device(before.sim);
  std::copy(before.streams.begin(), before.streams.end(), std::begin(t_current));
}

void* native_stream(Stream s) {
  if (s.id == 0) return nullptr;
  return streams_of(s.device).native[s.id].load(std::memory_order_acquire);
}

int stream_priority(Stream s) { return s.id >= kFirstUrgent && s.id < kFirstExternal ? -1 : 0; }

Stream create_stream(Device d, int priority) {
  d = resolve(d);
  if (!d.is_accelerator()) return {d, 0};
  DeviceStreams& streams = streams_of(d);
  std::lock_guard lock(streams.mutex);
  const bool urgent = priority < 0;
  const uint32_t id = (urgent ? kFirstUrgent : 1) + streams.next[urgent] % kPoolSize;
  if (streams.native[id] == nullptr) {
    void* native = nullptr;
    hal::call<&Table::stream_create>(d, "stream create", urgent ? -1 : 0, &native);
    streams.native[id].store(native, std::memory_order_release);
  }
  ++streams.next[urgent];
  return {d, id};
}

Stream external_stream(Device d, void* native) {
  d = resolve(d);
  if (native == nullptr || !d.is_accelerator()) return {d, 0};
  DeviceStreams& streams = streams_of(d);
  std::lock_guard lock(streams.mutex);
  for (uint32_t id = 1; id < kFirstExternal + streams.external; ++id)
    if (streams.native[id] == native) return {d, id};
  check(streams.external < kMaxExternal, Code::unsupported, "more than ", kMaxExternal,
        " streams of other libraries on ", to_string(d));
  const uint32_t id = kFirstExternal + streams.external++;
  streams.native[id].store(native, std::memory_order_release);
  return {d, id};
}

bool query(Stream s) {
  const hal::Status status = hal::try_call<&Table::stream_query>(s.device, native_stream(s));
  if (status == hal::Status::not_ready) return false;
  if (status != hal::Status::ok) hal::raise(s.device, "stream query", status);
  return true;
}

AfterWait after_wait = nullptr, after_wait_of_collectives = nullptr;

namespace {

void report_after_wait(Device d) {
  if (after_wait) after_wait(d);
  if (after_wait_of_collectives) after_wait_of_collectives(d);
}

}  // namespace

void synchronize(Stream s) {
  if (s.device.is_cpu()) return;
  const probe::Span span(probe::Kind::wait, "synchronize");
  hal::call<&Table::stream_synchronize>(s.device, "stream synchronize", native_stream(s));
  report_after_wait(s.device);
}

void synchronize(Device d) {
  d = resolve(d);
  if (d.is_cpu()) return;
  const probe::Span span(probe::Kind::wait, "synchronize");
  hal::call<&Table::synchronize>(d, "device synchronize");
  report_after_wait(d);
}

void wait_stream(Stream waiting, Stream awaited) {
  if (waiting == awaited || awaited.device.is_cpu())
    return;  // the cpu's work is done when its call returns
  Event event(awaited.device);
  event.record(awaited);
  if (waiting.device.is_cpu())
    event.synchronize();
  else
    event.wait(waiting);
}

void host_function(Stream s, void (*fn)(void* user), void* user) {
  hal::call<&Table::host_function>(s.device, "host function", native_stream(s), fn, user);
}

void wait_where_launches_block(Stream s) {
  if (launch_blocking() && !is_capturing(s)) synchronize(s);
}

void launch(Stream s, const char* name, KernelFn fn, const void* args, size_t arg_bytes,
            std::span<const Access> accesses) {
  if (s.device.is_cpu()) return fn(nullptr, args);
  const probe::Launch mark(s.device, name);
  hal::call<&Table::launch>(s.device, name, native_stream(s), name, fn, args, arg_bytes, accesses);
  wait_where_launches_block(s);
}

}  // namespace flambeau
