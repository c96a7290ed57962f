// The hardware abstraction: one table of functions per provider (cpu, sim, cuda). Everything above
// it is common code. Providers never throw and never print: they return a Status and keep the
// thread's text for it. Every function takes the device's index first, so that one wrapper (call.h)
// counts, injects faults and raises.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/activity.h"
#include "device/devices.h"
#include "device/matmul.h"
#include "device/runtime.h"

namespace flambeau::hal {

enum class Status : int8_t {
  ok,
  not_ready,
  out_of_memory,
  device_lost,
  invalid,
  unsupported,
  no_kernel_image,
  driver_too_old,
  no_gpu,
  forked,
  capture,
  race,
  internal
};

using Properties = DeviceProperties;

enum class Direction : int8_t { to_device, to_host, on_device, to_peer };

struct Copy {
  void* dst;
  const void* src;
  size_t bytes;
  Direction direction;
  bool pageable = false;  // the host side is ordinary memory: stage it, or finish before returning
  int peer = -1;          // to_peer: the index of dst's device
};

// Which calls fail while a stream is captured that a capture cannot hold, those that wait or
// allocate: every thread's, those of the thread that captures, or none, as CUDA's.
enum class CaptureMode : int8_t { global, thread_local_only, relaxed };

// Of a device's sensors and counters; units stand in flambeau/monitor.h.
enum class Reading : int8_t {
  utilization,
  memory_utilization,
  memory_used,
  memory_free,
  memory_total,
  temperature,
  power_draw,
  clock_rate
};

struct Process {
  int64_t pid;
  int64_t bytes;  // -1: not told
};

enum class BlockNote : int8_t { acquired, released };

struct Table {
  const char* name;

  // devices
  int (*device_count)();
  Status (*availability)(std::string* reason);  // ok, or why there is no device
  Status (*properties)(int device, Properties* out);
  Status (*memory_info)(int device, size_t* free_bytes, size_t* total_bytes);
  Status (*synchronize)(int device);

  // memory
  Status (*allocate)(int device, size_t bytes, void** out);
  Status (*deallocate)(int device, void* data, size_t bytes);
  Status (*allocate_host)(int device, size_t bytes, void** out);
  Status (*deallocate_host)(int device, void* data, size_t bytes);
  // Addresses for memory to come, of which parts get memory and lose it again, in pages of 2 MiB;
  // null for the cpu. `map` is out of memory as `allocate` is, `unmap` takes whole mapped parts and
  // waits for the device as `deallocate` does. `reserve` is out of memory where addresses are.
  Status (*reserve)(int device, size_t bytes, void** out);
  Status (*release)(int device, void* data, size_t bytes);
  Status (*map)(int device, void* data, size_t bytes);
  Status (*unmap)(int device, void* data, size_t bytes);
  // The caching allocator hands a piece of a segment out or takes it back, in the order of
  // `stream`.
  Status (*note_block)(int device, void* stream, BlockNote note, void* data, size_t bytes);

  // Whether the driver stages copies from and to that host memory, so that it may be touched again
  // as soon as a copy from it was enqueued. Memory that another library has page-locked or
  // registered is not.
  Status (*is_pageable)(int device, const void* host, bool* out);

  // copies, in the order of `stream`
  Status (*copy)(int device, void* stream, const Copy& copy);
  Status (*fill)(int device, void* stream, void* dst, int value, size_t bytes);
  Status (*can_access_peer)(int device, int peer, bool* out);

  // streams; a null stream is the device's default one
  Status (*stream_create)(int device, int priority, void** out);
  Status (*stream_destroy)(int device, void* stream);
  Status (*stream_query)(int device, void* stream);  // not_ready while work is left
  Status (*stream_synchronize)(int device, void* stream);
  Status (*stream_wait)(int device, void* stream, void* event);

  // events
  Status (*event_create)(int device, bool timing, void** out);
  Status (*event_destroy)(int device, void* event);
  Status (*event_record)(int device, void* event, void* stream);
  Status (*event_query)(int device, void* event);  // not_ready while the recorded work is not done
  Status (*event_synchronize)(int device, void* event);
  Status (*event_elapsed)(int device, void* start, void* end, float* milliseconds);

  // launches
  Status (*launch)(int device, void* stream, const char* name, KernelFn fn, const void* args,
                   size_t arg_bytes, std::span<const Access> accesses);
  Status (*host_function)(int device, void* stream, void (*fn)(void* user), void* user);

  // graphs
  Status (*capture_begin)(int device, void* stream, CaptureMode mode);
  Status (*capture_end)(int device, void* stream, void** graph);
  Status (*capture_active)(int device, void* stream, bool* out);
  Status (*graph_launch)(int device, void* graph, void* stream);
  Status (*graph_destroy)(int device, void* graph);

  // errors
  std::string (*error_text)(int device);  // of this thread's last failed call
  KernelColumn (*kernel_column)(int device);

  // Vendors' libraries: optional entries, null where a provider has none, so that code above it
  // does not ask what was compiled in. `unsupported`: the library does not take the operands as
  // they lie, or is not there. Throws what the allocator throws for the library's workspace.
  Status (*matmul)(int device, Stream stream, const Matmul& problem);

  // Versions of what a provider stands on, null where it stands on nothing: its runtime (13000 is
  // 13.0), and its library of products, which is opened for the question
  // (throws Error(library missing)).
  int (*runtime_version)();
  size_t (*matmul_version)();

  // Monitoring, null where a provider has none. A library that is missing is thrown as
  // Error(library missing, or library version).
  Status (*reading)(int device, Reading what, int64_t* out);
  Status (*processes)(int device, std::vector<Process>* out);

  // What the devices run, null where a provider cannot tell. Between start and stop every activity
  // of all devices is kept, with the number that its thread named last; 0 ends that. Stopping waits
  // for the devices. A start that is refused says why.
  Status (*trace_start)(std::string* problem);
  void (*trace_launch)(uint64_t number);
  void (*trace_stop)(Activities* add_to);
};

const Table& cpu_table();
const Table& sim_table();
const Table& meta_table();
// A provider of which not every build has one; it enters itself when the library is loaded.
inline const Table& (*cuda_table)() = nullptr;

// The provider that answers for a type; sim answers for cuda where FLAMBEAU_SIM says as=cuda.
// Null where this build has none.
const Table* provider(DeviceType type);

}  // namespace flambeau::hal
