// Devices as everything above this layer sees them: memory from the caching allocator, copies,
// streams, events and launches, the same calls for cpu, sim and cuda. What differs sits behind the
// HAL table (hal.h). Calls are asynchronous on the current stream unless they say "waits"; errors
// are thrown as Error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/device.h"

namespace flambeau {

// ---- devices
// ---------------------------------------------------------------------------------------------

int device_count(DeviceType type);
bool is_available(DeviceType type);
Device current_device(DeviceType type);  // with an index; thread-local
void set_current_device(Device d);
// Fills in a missing index and checks that the device exists; throws with the reason and what there
// is.
Device resolve(Device d);

// Which implementation of a kernel a device runs: machine code of the host, nvcc's, or nvcc's
// sources executed on the host by the test harness.
enum class KernelColumn : int8_t { host, cuda, emu };
inline constexpr int kKernelColumns = 3;
KernelColumn kernel_column(Device d);

// ---- streams and launches
// --------------------------------------------------------------------------------

struct Stream {
  Device device;
  uint32_t id = 0;  // 0: the device's default stream
  friend bool operator==(Stream, Stream) = default;
};
Stream current_stream(Device d);  // thread-local
void set_current_stream(Stream s);

// A kernel's host entry: enqueues (cuda) or performs (host, emu) the work. `args` is a trivially
// copyable struct that the provider copies if it runs later.
using KernelFn = void (*)(void* native_stream, const void* args);

// A byte range that a launch reads or writes, for the happens-before checker of sim.
struct Access {
  const void* data;
  size_t bytes;
  bool write;
};

// On a cpu stream this calls fn(nullptr, args) before it returns.
void launch(Stream s, const char* name, KernelFn fn, const void* args, size_t arg_bytes,
            std::span<const Access> accesses);
// Where launches are to block (CUDA_LAUNCH_BLOCKING): waits for one that has just been made, unless
// it is only recorded.
void wait_where_launches_block(Stream s);

void synchronize(Stream s);  // waits
void synchronize(Device d);  // waits for every stream

// ---- memory
// ----------------------------------------------------------------------------------------------

struct Block;  // a piece of a segment, owned by the caching allocator
struct Memory {
  void* data = nullptr;
  Block* block = nullptr;
};
// At least `bytes` (0 is allowed: data may be null), 64-byte aligned (512 on devices), for use on
// the current stream. Throws out of device / host memory with the full report.
Memory allocate(Device d, size_t bytes);
void deallocate(Block* b) noexcept;      // stream-ordered; never waits; null is fine
void record_stream(Block* b, Stream s);  // `s` uses the block too
Memory allocate_pinned(size_t bytes);    // page-locked host memory from its own cache
bool is_pinned(const void* host);

// Copies bytes between any two devices, ordered after the work on both current streams. To or from
// pinned host memory with non_blocking it returns at once, and a later host read through the engine
// waits for it. Otherwise host memory is safe to reuse or read when it returns.
void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                bool non_blocking);
void fill_bytes(void* dst, Device d, int value, size_t bytes);

// Host code is about to touch this block's memory directly: waits for pending copies into or out of
// it.
void wait_for_host_access(const Block* b);

}  // namespace flambeau
