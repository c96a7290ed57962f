// CUDA behind the HAL table: thin calls of the runtime, each on its device. Streams and events are
// CUDA's own handles, a null stream is the legacy default stream, as in PyTorch.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "device/cuda/availability.h"
#include "device/cuda/blas.h"
#include "device/cuda/blas_lt.h"
#include "device/cuda/monitor.h"
#include "device/cuda/pages.h"
#include "device/cuda/peer.h"
#include "device/cuda/properties.h"
#include "device/cuda/status.h"
#include "device/cuda/trace.h"
#include "device/cuda/versions.h"
#include "device/vendor_device.h"

namespace flambeau::cuda {
namespace {

using hal::CaptureMode;
using hal::Copy;
using hal::Direction;
using hal::Status;

cudaStream_t stream_of(void* s) { return static_cast<cudaStream_t>(s); }
cudaEvent_t event_of(void* e) { return static_cast<cudaEvent_t>(e); }

Status memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  return on_device(device, [&] { return cudaMemGetInfo(free_bytes, total_bytes); });
}

Status synchronize(int device) {
  return on_device(device, [] { return cudaDeviceSynchronize(); });
}

// ---- memory and copies --------------------------------------------------------------------------

Status allocate(int device, size_t bytes, void** out) {
  return on_device(device, [&] {
    const RelaxedCapture relaxed;
    return cudaMalloc(out, bytes);
  });
}

Status deallocate(int device, void* data, size_t) {
  return on_device(device, [&] { return cudaFree(data); });
}

// Portable memory is every device's: one that has a context already is asked for it, or the one
// where this thread will work.
int device_for_host() {
  for (int i = 0; i < availability().devices; ++i)
    if (has_context(i)) return i;
  return current_device(DeviceType::cuda).index;
}

Status allocate_host(int, size_t bytes, void** out) {
  return on_device(device_for_host(), [&] {
    const RelaxedCapture relaxed;
    return cudaHostAlloc(out, bytes, cudaHostAllocPortable);
  });
}

Status deallocate_host(int, void* data, size_t) {
  return on_device(device_for_host(), [&] { return cudaFreeHost(data); });
}

Status is_pageable(int device, const void* host, bool* out) {
  cudaPointerAttributes known{};
  const Status status = on_device(device, [&] { return cudaPointerGetAttributes(&known, host); });
  *out = known.type == cudaMemoryTypeUnregistered;
  return status;
}

cudaMemcpyKind kind_of(Direction d) {
  switch (d) {
    case Direction::to_device:
      return cudaMemcpyHostToDevice;
    case Direction::to_host:
      return cudaMemcpyDeviceToHost;
    default:
      return cudaMemcpyDeviceToDevice;
  }
}

Status copy(int device, void* stream, const Copy& c) {
  return on_device(device, [&] {
    if (c.direction != Direction::to_peer)
      return cudaMemcpyAsync(c.dst, c.src, c.bytes, kind_of(c.direction), stream_of(stream));
    open_way(device, c.peer);
    return cudaMemcpyPeerAsync(c.dst, c.peer, c.src, device, c.bytes, stream_of(stream));
  });
}

Status fill(int device, void* stream, void* dst, int value, size_t bytes) {
  return on_device(device, [&] { return cudaMemsetAsync(dst, value, bytes, stream_of(stream)); });
}

Status can_access_peer(int device, int peer, bool* out) {
  int can = 0;
  const Status status = status_of(cudaDeviceCanAccessPeer(&can, device, peer));
  *out = can != 0;
  return status;
}

// ---- streams and events -------------------------------------------------------------------------

Status stream_create(int device, int priority, void** out) {
  return on_device(device, [&] {
    int least = 0, greatest = 0;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    cudaStream_t s = nullptr;
    if (error == cudaSuccess)
      error = cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking,
                                           std::clamp(priority, greatest, least));
    *out = s;
    return error;
  });
}

Status stream_destroy(int device, void* stream) {
  return on_device(device, [&] { return cudaStreamDestroy(stream_of(stream)); });
}

Status stream_query(int device, void* stream) {
  return on_device(device, [&] { return cudaStreamQuery(stream_of(stream)); });
}

Status stream_synchronize(int device, void* stream) {
  return on_device(device, [&] { return cudaStreamSynchronize(stream_of(stream)); });
}

Status stream_wait(int device, void* stream, void* event) {
  return on_device(device,
                   [&] { return cudaStreamWaitEvent(stream_of(stream), event_of(event), 0); });
}

Status event_create(int device, bool timing, void** out) {
  return on_device(device, [&] {
    cudaEvent_t e = nullptr;
    const cudaError_t error =
        cudaEventCreateWithFlags(&e, timing ? cudaEventDefault : cudaEventDisableTiming);
    *out = e;
    return error;
  });
}

Status event_destroy(int device, void* event) {
  return on_device(device, [&] { return cudaEventDestroy(event_of(event)); });
}

Status event_record(int device, void* event, void* stream) {
  return on_device(device, [&] { return cudaEventRecord(event_of(event), stream_of(stream)); });
}

// Also from a thread that watches others' work, of which a capture elsewhere must not come to know.
Status event_query(int device, void* event) {
  return on_device(device, [&] {
    const RelaxedCapture relaxed;
    return cudaEventQuery(event_of(event));
  });
}

Status event_synchronize(int device, void* event) {
  return on_device(device, [&] { return cudaEventSynchronize(event_of(event)); });
}

Status event_elapsed(int device, void* start, void* end, float* milliseconds) {
  return on_device(
      device, [&] { return cudaEventElapsedTime(milliseconds, event_of(start), event_of(end)); });
}

// ---- launches and graphs ------------------------------------------------------------------------

Status launch(int device, void* stream, const char*, KernelFn fn, const void* args, size_t,
              std::span<const Access>) {
  return on_device(device, [&] {
    fn(stream, args);
    return cudaGetLastError();
  });
}

Status host_function(int device, void* stream, void (*fn)(void*), void* user) {
  return on_device(device, [&] { return cudaLaunchHostFunc(stream_of(stream), fn, user); });
}

cudaStreamCaptureMode mode_of(CaptureMode m) {
  switch (m) {
    case CaptureMode::global:
      return cudaStreamCaptureModeGlobal;
    case CaptureMode::relaxed:
      return cudaStreamCaptureModeRelaxed;
    default:
      return cudaStreamCaptureModeThreadLocal;
  }
}

Status capture_begin(int device, void* stream, CaptureMode mode) {
  return on_device(device,
                   [&] { return cudaStreamBeginCapture(stream_of(stream), mode_of(mode)); });
}

Status capture_end(int device, void* stream, void** out) {
  return on_device(device, [&] {
    cudaGraph_t graph = nullptr;
    cudaError_t error = cudaStreamEndCapture(stream_of(stream), &graph);
    if (error != cudaSuccess) return error;
    cudaGraphExec_t exec = nullptr;
    error = cudaGraphInstantiate(&exec, graph, 0);
    ignore(cudaGraphDestroy(graph));
    *out = exec;
    return error;
  });
}

Status capture_active(int device, void* stream, bool* out) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const Status result =
      on_device(device, [&] { return cudaStreamIsCapturing(stream_of(stream), &status); });
  *out = status == cudaStreamCaptureStatusActive;
  return result;
}

Status graph_launch(int device, void* graph, void* stream) {
  return on_device(device, [&] {
    return cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), stream_of(stream));
  });
}

Status graph_destroy(int device, void* graph) {
  return on_device(device,
                   [&] { return cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); });
}

hal::Table make_table() {
  hal::Table t{};
  t.name = "cuda";
  t.device_count = [] { return availability().devices; };
  t.availability = [](std::string* reason) {
    return *reason = availability().reason, availability().status;
  };
  t.properties = properties;
  t.memory_info = memory_info;
  t.synchronize = synchronize;
  t.allocate = allocate;
  t.deallocate = deallocate;
  t.allocate_host = allocate_host;
  t.deallocate_host = deallocate_host;
  t.reserve = reserve;
  t.release = release;
  t.map = map;
  t.unmap = unmap;
  t.note_block = [](int, void*, hal::BlockNote, void*, size_t) { return Status::ok; };
  t.is_pageable = is_pageable;
  t.copy = copy;
  t.fill = fill;
  t.can_access_peer = can_access_peer;
  t.stream_create = stream_create;
  t.stream_destroy = stream_destroy;
  t.stream_query = stream_query;
  t.stream_synchronize = stream_synchronize;
  t.stream_wait = stream_wait;
  t.event_create = event_create;
  t.event_destroy = event_destroy;
  t.event_record = event_record;
  t.event_query = event_query;
  t.event_synchronize = event_synchronize;
  t.event_elapsed = event_elapsed;
  t.launch = launch;
  t.host_function = host_function;
  t.capture_begin = capture_begin;
  t.capture_end = capture_end;
  t.capture_active = capture_active;
  t.graph_launch = graph_launch;
  t.graph_destroy = graph_destroy;
  t.error_text = [](int) { return last_text(); };
  t.kernel_column = [](int) { return KernelColumn::FLAM_KERNEL_COLUMN; };
  t.matmul = blas_matmul;
  t.reading = reading;
  t.processes = processes;
  t.trace_start = trace_start;
  t.trace_launch = trace_launch;
  t.trace_stop = trace_stop;
  t.runtime_version = runtime_version;
  t.matmul_version = [] { return lt::functions().version(); };
  return t;
}

const hal::Table& table() {
  static const hal::Table made = make_table();
  return made;
}

Status with_device(int device, void (*run)(void*), void* user) {
  return on_device(device, [&] { return run(user), cudaSuccess; });
}

[[maybe_unused]] const bool entered = (hal::cuda_table = table, hal::with_cuda_device = with_device,
                                       hal::sloped_matmul = blas_sloped_matmul, true);

}  // namespace
}  // namespace flambeau::cuda
