// Streams and events of the stand-in, host functions, and launches, which run when their stream's
// turn comes, as on a GPU. A handle that is dead, or of another device, breaks the contract.
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "contract.h"
#include "device/sim/guard.h"
#include "device/sim/machine.h"
#include "driver.h"
#include "grid.h"

using namespace cuda_runtime;
using flambeau::sim::Machine;

namespace {

std::mutex g_mutex;
using Handles = std::map<const void*, int>;  // live ones, with their devices

Handles& streams() {
  static auto& all = *new Handles;
  return all;
}
Handles& events() {
  static auto& all = *new Handles;
  return all;
}

void add(Handles& all, const void* handle, int device) {
  const std::lock_guard lock(g_mutex);
  all[handle] = device;
}

// The device of a live handle; -1 of any other.
int device_of(Handles& all, const void* handle) {
  const std::lock_guard lock(g_mutex);
  const auto at = all.find(handle);
  return at == all.end() ? -1 : at->second;
}

void remove(Handles& all, const void* handle) {
  const std::lock_guard lock(g_mutex);
  all.erase(handle);
}

// An event that the call may use: any live one, or one of the current device.
cudaError_t check_event(const Call& call, cudaEvent_t event, bool of_this_device = false) {
  const int device = device_of(events(), event);
  if (device < 0) return call.breaks(cudaErrorInvalidResourceHandle, "a dead event");
  if (of_this_device && device != call.current)
    return call.breaks(cudaErrorInvalidResourceHandle, "an event of device ", device);
  return cudaSuccess;
}

}  // namespace

Held cuda_runtime::held() {
  Held all{0, 0, graphs(), 0, registered()};
  for (int i = 0; i < devices().device_count(); ++i) {
    size_t free = 0, total = 0;
    devices().memory_info(i, &free, &total);
    all.bytes += total - free;
  }
  const std::lock_guard lock(g_mutex);
  all.streams = streams().size();
  all.events = events().size();
  return all;
}

namespace {

// Launches of this library, queued instead of run; not those of a simulated device's own work.
void enqueue(void* stream, const char* name, flambeau::KernelFn run, const void* call, size_t bytes,
             std::span<const flambeau::Access> touched) {
  if (flambeau::sim::in_guarded_work()) return run(stream, call);
  const Call api("cudaLaunchKernel");
  api.needs_context();
  if (check_stream(api, static_cast<cudaStream_t>(stream)) == cudaSuccess)
    api.answer(devices().launch(api.current, stream, name, run, call, bytes, touched));
}
void enqueue_kernel(void* stream, const char* name, flambeau::KernelFn run, const void* call,
                    size_t bytes) {
  if (is_empty()) return;
  enqueue(stream, name, run, call, bytes, accesses);
}
// Of a library of kernels, which says itself what it touches.
void enqueue_told(void* stream, const char* name, flambeau::KernelFn run, const void* call,
                  size_t bytes, const standin_access* touched, size_t n) {
  std::vector<flambeau::Access> all;
  for (size_t i = 0; i < n; ++i)
    all.push_back({touched[i].data, touched[i].bytes, touched[i].write != 0});
  enqueue(stream, name, run, call, bytes, all);
}
// For the stand-in for CUPTI.
int take(void (*tell)(const standin_activity*)) {
  Machine& m = Machine::instance();
  auto lock = m.lock();
  bool done = true;
  for (int i = 0; i < devices().device_count(); ++i) done = done && !m.busy(i);
  const flambeau::Activities traced = m.take_trace();
  lock.unlock();
  for (const auto& a : traced.all) {
    const standin_activity told{int(a.kind), a.device.index, a.stream, a.name.c_str(),
                                a.begin_ns,  a.end_ns,       a.launch};
    tell(&told);
  }
  return done;
}
void trace(int whether) {
  const auto lock = Machine::instance().lock();
  whether ? void(Machine::instance().start_trace()) : Machine::instance().stop_trace();
}
constexpr standin_tracer kTracer{trace, [](uint64_t n) { flambeau::sim::t_launch = n; }, take};

[[maybe_unused]] const bool queues =
    (cuda_on_cpu::enqueue = enqueue_kernel, standin_offers(enqueue_told),
     standin_offers_tracer(&kTracer), true);

struct HostFunction {
  cudaHostFn_t fn;
  void* user;
};

}  // namespace

namespace cuda_runtime {

cudaError_t check_stream(const Call& call, cudaStream_t stream) {
  if (!stream) return cudaSuccess;
  const int device = device_of(streams(), stream);
  if (device < 0) return call.breaks(cudaErrorInvalidResourceHandle, "a dead stream");
  if (device != call.current)
    return call.breaks(cudaErrorInvalidResourceHandle, "a stream of device ", device);
  return cudaSuccess;
}

}  // namespace cuda_runtime

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned, int priority) {
  const Call call("cudaStreamCreateWithPriority");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  call.needs_context();
  void* stream = nullptr;
  const auto status = devices().stream_create(call.current, priority, &stream);
  *out = static_cast<cudaStream_t>(stream);
  if (stream) add(streams(), stream, call.current);
  return call.answer(status);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call("cudaStreamDestroy");
  const int device = device_of(streams(), stream);
  if (device < 0) return call.breaks(cudaErrorInvalidResourceHandle, "a dead stream");
  remove(streams(), stream);
  return call.answer(devices().stream_destroy(device, stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Call call("cudaStreamQuery");
  call.needs_context();
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  return call.answer(devices().stream_query(call.current, stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Call call("cudaStreamSynchronize");
  call.needs_context();
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  return call.answer(devices().stream_synchronize(call.current, stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Call call("cudaStreamWaitEvent");
  call.needs_context();
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  if (const cudaError_t e = check_event(call, event); e != cudaSuccess) return e;
  return call.answer(devices().stream_wait(call.current, stream, event));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  const Call call("cudaEventCreateWithFlags");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  call.needs_context();
  void* event = nullptr;
  const bool timing = !(flags & cudaEventDisableTiming);
  const auto status = devices().event_create(call.current, timing, &event);
  *out = static_cast<cudaEvent_t>(event);
  if (event) add(events(), event, call.current);
  return call.answer(status);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Call call("cudaEventDestroy");
  if (const cudaError_t e = check_event(call, event); e != cudaSuccess) return e;
  const int device = device_of(events(), event);
  remove(events(), event);
  return call.answer(devices().event_destroy(device, event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Call call("cudaEventRecord");
  call.needs_context();
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  if (const cudaError_t e = check_event(call, event, true); e != cudaSuccess) return e;
  return call.answer(devices().event_record(call.current, event, stream));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Call call("cudaEventQuery");
  if (const cudaError_t e = check_event(call, event); e != cudaSuccess) return e;
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  return call.answer(devices().event_query(device_of(events(), event), event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Call call("cudaEventSynchronize");
  if (const cudaError_t e = check_event(call, event); e != cudaSuccess) return e;
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  return call.answer(devices().event_synchronize(device_of(events(), event), event));
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const Call call("cudaEventElapsedTime");
  if (const cudaError_t e = check_event(call, start); e != cudaSuccess) return e;
  if (const cudaError_t e = check_event(call, end); e != cudaSuccess) return e;
  const int device = device_of(events(), start);
  if (device != device_of(events(), end))
    return call.breaks(cudaErrorInvalidResourceHandle, "events of two devices");
  return call.answer(devices().event_elapsed(device, start, end, milliseconds));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* user) {
  const Call call("cudaLaunchHostFunc");
  call.needs_context();
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  const auto run = [](void* p) {
    const std::unique_ptr<HostFunction> given(static_cast<HostFunction*>(p));
    in_host_function = true;
    given->fn(given->user);
    in_host_function = false;
  };
  return call.answer(
      devices().host_function(call.current, stream, run, new HostFunction{fn, user}));
}
