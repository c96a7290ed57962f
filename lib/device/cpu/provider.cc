// The cpu as a device: segments are anonymous mappings, a stream is the calling thread, and an
// event is a moment in time, because all earlier work of the thread is done when the call arrives.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "base/error.h"
#include "device/cpu/limit.h"
#include "device/hal.h"

namespace flambeau::hal {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<size_t> g_reserved{0};

size_t physical_memory() { return size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE)); }

Status properties(int, Properties* out) {
  *out = {};
  out->name = "cpu";
  out->total_memory = cpu_capacity();
  out->multiprocessors = int(std::thread::hardware_concurrency());
  return Status::ok;
}

Status memory_info(int, size_t* free_bytes, size_t* total_bytes) {
  *total_bytes = cpu_capacity();
  const size_t reserved = g_reserved;
  *free_bytes = *total_bytes > reserved ? *total_bytes - reserved : 0;
  return Status::ok;
}

// Segments start at a huge-page boundary: fewer page faults and translations. The last one of
// several is left to small pages, because what is asked for is rounded up to it: what nobody uses
// of it takes no memory.
constexpr size_t kHugePage = size_t(2) << 20;

void* map_aligned(size_t bytes) {
  const size_t room = bytes + kHugePage;
  void* raw = mmap(nullptr, room, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + kHugePage - 1) & ~(kHugePage - 1);
  if (aligned > begin) munmap(raw, aligned - begin);
  if (aligned + bytes < begin + room)
    munmap(reinterpret_cast<void*>(aligned + bytes), begin + room - aligned - bytes);
  const size_t huge = bytes > kHugePage ? (bytes - 1) / kHugePage * kHugePage : bytes;
  madvise(reinterpret_cast<void*>(aligned), huge, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

Status allocate(int, size_t bytes, void** out) {
  if (g_reserved.fetch_add(bytes) + bytes > cpu_capacity() ||
      (*out = map_aligned(bytes)) == nullptr) {
    g_reserved -= bytes;
    return Status::out_of_memory;
  }
  return Status::ok;
}

Status deallocate(int, void* data, size_t bytes) {
  munmap(data, bytes);
  g_reserved -= bytes;
  return Status::ok;
}

Status copy(int, void*, const Copy& c) {
  std::memcpy(c.dst, c.src, c.bytes);
  return Status::ok;
}

Status fill(int, void*, void* dst, int value, size_t bytes) {
  std::memset(dst, value, bytes);
  return Status::ok;
}

Status event_create(int, bool, void** out) {
  *out = new (std::nothrow) Clock::time_point{};
  return *out ? Status::ok : Status::out_of_memory;
}

Status event_destroy(int, void* event) {
  delete static_cast<Clock::time_point*>(event);
  return Status::ok;
}

Status event_record(int, void* event, void*) {
  *static_cast<Clock::time_point*>(event) = Clock::now();
  return Status::ok;
}

Status event_elapsed(int, void* start, void* end, float* milliseconds) {
  const auto d = *static_cast<Clock::time_point*>(end) - *static_cast<Clock::time_point*>(start);
  *milliseconds = std::chrono::duration<float, std::milli>(d).count();
  return Status::ok;
}

Status launch(int, void*, const char*, KernelFn fn, const void* args, size_t,
              std::span<const Access>) {
  fn(nullptr, args);
  return Status::ok;
}

Table make_table() {
  Table t{};
  t.name = "cpu";
  t.device_count = [] { return 1; };
  t.availability = [](std::string*) { return Status::ok; };
  t.properties = properties;
  t.memory_info = memory_info;
  t.synchronize = [](int) { return Status::ok; };
  t.allocate = allocate;
  t.deallocate = deallocate;
  t.allocate_host = allocate;
  t.deallocate_host = deallocate;
  t.note_block = [](int, void*, BlockNote, void*, size_t) { return Status::ok; };
  t.is_pageable = [](int, const void*, bool* out) {
    *out = true;
    return Status::ok;
  };
  t.copy = copy;
  t.fill = fill;
  t.can_access_peer = [](int, int, bool* out) {
    *out = true;
    return Status::ok;
  };
  t.stream_create = [](int, int, void** out) {
    *out = nullptr;
    return Status::ok;
  };
  t.stream_destroy = t.stream_query = t.stream_synchronize = [](int, void*) { return Status::ok; };
  t.stream_wait = [](int, void*, void*) { return Status::ok; };
  t.event_create = event_create;
  t.event_destroy = event_destroy;
  t.event_record = event_record;
  t.event_query = t.event_synchronize = [](int, void*) { return Status::ok; };
  t.event_elapsed = event_elapsed;
  t.launch = launch;
  t.host_function = [](int, void*, void (*fn)(void*), void* user) {
    fn(user);
    return Status::ok;
  };
  t.capture_begin = [](int, void*, hal::CaptureMode) { return Status::unsupported; };
  t.capture_end = [](int, void*, void**) { return Status::unsupported; };
  t.capture_active = [](int, void*, bool* out) {
    *out = false;
    return Status::ok;
  };
  t.graph_launch = [](int, void*, void*) { return Status::unsupported; };
  t.graph_destroy = [](int, void*) { return Status::unsupported; };
  t.error_text = [](int) { return std::string(); };
  t.kernel_column = [](int) { return KernelColumn::host; };
  return t;
}

}  // namespace

size_t cpu_capacity() {
  static const size_t capacity = [] {
    const char* text = std::getenv("FLAMBEAU_CPU_MEMORY");
    if (!text) return physical_memory();
    const std::optional<size_t> limit = parse_bytes(text);
    check(limit.has_value(), Code::invalid_argument, "FLAMBEAU_CPU_MEMORY is \"", text,
          "\"; accepted is a size such as \"512MiB\"");
    return *limit;
  }();
  return capacity;
}

const Table& cpu_table() {
  static const Table table = make_table();
  return table;
}

}  // namespace flambeau::hal
