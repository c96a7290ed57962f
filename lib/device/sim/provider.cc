// The simulated GPU behind the HAL table. Time on the virtual clock is rough on purpose: a launch
// costs 2 us, memory moves at 1 TB/s, the host link at 25 GB/s pinned and 10 GB/s pageable.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "base/of_thread.h"
#include "base/thread_local.h"
#include "device/hal.h"
#include "device/sim/arena.h"
#include "device/sim/machine.h"

namespace flambeau::sim {
namespace {

using hal::BlockNote;
using hal::Copy;
using hal::Direction;
using hal::Status;

constexpr double kLaunch = 2, kDeviceBytes = 1e6, kPinnedBytes = 25e3,
                 kPageableBytes = 10e3;  // us, bytes per us

// By direction and whether the host's memory is pageable.
constexpr const char* kCopyNames[][2] = {
    {"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pageable -> Device)"},
    {"Memcpy DtoH (Device -> Pinned)", "Memcpy DtoH (Device -> Pageable)"},
    {"Memcpy DtoD (Device -> Device)"},
    {"Memcpy PtoP (Device -> Device)"}};

FLAM_THREAD_LOCAL OfThread<std::string> t_text;  // of this thread's last failure

Status failed(Status status, std::string text) {
  t_text.get() = std::move(text);
  return status;
}

// What every call answers once a fault has been seen by a synchronisation.
Status refused(Machine& m, int device) {
  return m.device(device).shown ? failed(Status::device_lost, m.device(device).fault) : Status::ok;
}

// The end of every synchronisation: asynchronous faults and races surface here.
Status outcome(Machine& m, int device) {
  if (m.show_fault(device)) return refused(m, device);
  if (std::string races = m.take_races(); !races.empty())
    return failed(Status::race, std::move(races));
  return Status::ok;
}

template <class F>
Status with_machine(int device, F&& f) noexcept {
  try {
    Machine& m = Machine::instance();
    auto lock = m.lock();
    if (const Status status = refused(m, device); status != Status::ok) return status;
    return f(m, lock);
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory;
  } catch (const std::exception& e) {
    return failed(Status::internal, e.what());
  }
}

Status synchronize(int device) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    if (m.captures(device)) return failed(Status::capture, "a stream of the device is captured");
    m.finish_device(lock, device);
    return outcome(m, device);
  });
}

Status properties(int device, DeviceProperties* out) {
  *out = {};
  out->name = "flambeau simulated GPU";
  out->total_memory = Arena::instance().capacity(device);
  out->multiprocessors = 1;
  out->warp_size = 32;
  out->shared_memory_per_block = out->shared_memory_per_block_optin = 48 << 10;
  out->shared_memory_per_multiprocessor = 48 << 10;
  out->max_threads_per_block = out->max_threads_per_multiprocessor = 1024;
  return Status::ok;
}

Status memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  const Arena& arena = Arena::instance();
  const size_t used = arena.used(device);
  *total_bytes = arena.capacity(device);
  *free_bytes = *total_bytes > used ? *total_bytes - used : 0;
  return Status::ok;
}

Status allocate(int device, size_t bytes, void** out) {
  return with_machine(device, [&](Machine&, Machine::Lock&) {
    *out = Arena::instance().allocate(device, bytes);
    return *out ? Status::ok : Status::out_of_memory;
  });
}

// As on a GPU, giving memory back waits for the device.
template <auto give>
Status give_back(int device, void* data, size_t bytes) {
  Machine& m = Machine::instance();
  auto lock = m.lock();
  m.finish_device(lock, device);
  m.forget(data, bytes);
  (Arena::instance().*give)(device, data, bytes);
  return Status::ok;
}

Status reserve(int device, size_t bytes, void** out) {
  *out = Arena::instance().reserve(device, bytes);
  return *out ? Status::ok : Status::out_of_memory;
}

Status release(int device, void* data, size_t bytes) {
  Arena::instance().release(device, data, bytes);
  return Status::ok;
}

Status map(int device, void* data, size_t bytes) {
  return with_machine(device, [&](Machine&, Machine::Lock&) {
    return Arena::instance().map(device, data, bytes) ? Status::ok : Status::out_of_memory;
  });
}

Status allocate_host(int device, size_t bytes, void** out) {
  return with_machine(device, [&](Machine&, Machine::Lock&) {
    *out = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return *out != MAP_FAILED ? Status::ok : Status::out_of_memory;
  });
}

Status deallocate_host(int, void* data, size_t bytes) {
  Machine& m = Machine::instance();
  auto lock = m.lock();
  m.forget(data, bytes);
  munmap(data, bytes);
  return Status::ok;
}

// Taking a block and giving it back count as writes of its stream, and freed memory is poisoned.
Status note_block(int device, void* stream, BlockNote note, void* data, size_t bytes) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    SimStream* s = m.stream(device, stream);
    if (s->capture) {  // a replay must not repeat it, but what was freed before it is free no more
      if (note == BlockNote::acquired) m.forget(data, bytes);
      return Status::ok;
    }
    Operation op;
    op.name = note == BlockNote::acquired ? "allocation" : "free";
    op.accesses = {{data, bytes, true}};
    if (note == BlockNote::released) {
      void* inside = Arena::instance().translate(static_cast<char*>(data));
      op.work = [inside, bytes] { std::memset(inside, 0xff, bytes); };
    }
    m.enqueue(lock, s, std::move(op),
              note == BlockNote::acquired ? Touching::acquire : Touching::release);
    return Status::ok;
  });
}

Status copy(int device, void* stream, const Copy& c) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    SimStream* s = m.stream(device, stream);
    const Arena& arena = Arena::instance();
    Operation op;
    op.name = "copy";
    const bool upload = c.direction == Direction::to_device,
               download = c.direction == Direction::to_host;
    if (!(upload && c.pageable)) op.accesses.push_back({c.src, c.bytes, false});
    if (!(download && c.pageable)) op.accesses.push_back({c.dst, c.bytes, true});
    char* dst = arena.translate(static_cast<char*>(c.dst));
    const char* src = arena.translate(static_cast<const char*>(c.src));
    op.kind = Activity::Kind::copy;
    op.traced = kCopyNames[int(c.direction)][c.pageable];
    const double rate =
        upload || download ? (c.pageable ? kPageableBytes : kPinnedBytes) : kDeviceBytes;
    op.microseconds = kLaunch + double(c.bytes) / rate;
    if (upload && c.pageable) {  // staged now: the caller may overwrite its memory
      auto staged = std::make_shared<std::vector<char>>(src, src + c.bytes);
      op.work = [staged, dst] { std::memcpy(dst, staged->data(), staged->size()); };
    } else {
      op.work = [dst, src, n = c.bytes] { std::memmove(dst, src, n); };
    }
    m.enqueue(lock, s, std::move(op));
    if (!(download && c.pageable)) return Status::ok;
    if (s->capture)
      return failed(Status::capture, "a copy to pageable host memory cannot be captured");
    m.finish(lock, s, s->enqueued);
    return outcome(m, device);
  });
}

Status is_pageable(int, const void*, bool* out) {
  *out = true;  // page-locked is what the allocator has made so
  return Status::ok;
}

Status fill(int device, void* stream, void* dst, int value, size_t bytes) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    Operation op;
    op.name = "fill";
    op.kind = Activity::Kind::fill;
    op.traced = "Memset (Device)";
    op.accesses = {{dst, bytes, true}};
    op.microseconds = kLaunch + double(bytes) / kDeviceBytes;
    op.work = [inside = Arena::instance().translate(static_cast<char*>(dst)), value, bytes] {
      std::memset(inside, value, bytes);
    };
    m.enqueue(lock, m.stream(device, stream), std::move(op));
    return Status::ok;
  });
}

Status launch(int device, void* stream, const char* name, KernelFn fn, const void* args,
              size_t arg_bytes, std::span<const Access> accesses) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    Operation op;
    op.name = name;
    op.traced = name;
    op.is_kernel = true;
    op.accesses.assign(accesses.begin(), accesses.end());
    size_t moved = 0;
    for (const Access& a : accesses) moved += a.bytes;
    op.microseconds = kLaunch + double(moved) / kDeviceBytes;
    struct alignas(64) Line {
      char bytes[64];
    };
    std::shared_ptr<Line[]> copied(new Line[(arg_bytes + sizeof(Line) - 1) / sizeof(Line) + 1]);
    if (arg_bytes) std::memcpy(copied.get(), args, arg_bytes);
    Arena::instance().translate_words(copied.get(), arg_bytes);
    op.work = [fn, copied] { fn(nullptr, copied.get()); };
    m.enqueue(lock, m.stream(device, stream), std::move(op));
    return Status::ok;
  });
}

Status host_function(int device, void* stream, void (*fn)(void*), void* user) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    Operation op;
    op.name = "host function";
    op.work = [fn, user] { fn(user); };
    m.enqueue(lock, m.stream(device, stream), std::move(op));
    return Status::ok;
  });
}

// ---- streams and events -------------------------------------------------------------------------

Status stream_create(int device, int, void** out) {
  return with_machine(device, [&](Machine& m, Machine::Lock&) {
    *out = m.add_stream(device);
    return Status::ok;
  });
}

Status stream_destroy(int device, void* stream) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    m.remove_stream(lock, m.stream(device, stream));
    return Status::ok;
  });
}

Status stream_query(int device, void* stream) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    return m.poll(lock, m.stream(device, stream)) ? outcome(m, device) : Status::not_ready;
  });
}

Status stream_synchronize(int device, void* stream) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    SimStream* s = m.stream(device, stream);
    if (s->capture) return failed(Status::capture, "the stream is being captured");
    m.finish(lock, s, s->enqueued);
    return outcome(m, device);
  });
}

SimEvent* event_of(void* event) { return static_cast<SimEvent*>(event); }

Status stream_wait(int device, void* stream, void* event) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    SimStream* s = m.stream(device, stream);
    const std::string problem = m.capture_wait(s, *event_of(event));
    if (!problem.empty()) return failed(Status::capture, problem);
    if (!s->capture) m.wait(lock, s, event_of(event)->latest);
    return Status::ok;
  });
}

Status event_create(int device, bool, void** out) {
  return with_machine(device, [&](Machine&, Machine::Lock&) {
    *out = new SimEvent;
    return Status::ok;
  });
}

Status event_destroy(int, void* event) {
  auto lock = Machine::instance().lock();
  delete event_of(event);
  return Status::ok;
}

Status event_record(int device, void* event, void* stream) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    m.record(lock, m.stream(device, stream), event_of(event));
    return Status::ok;
  });
}

Status event_query(int device, void* event) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    if (!event_of(event)->capture.expired())
      return failed(Status::capture, "the event was recorded in a capture");
    return m.poll_marker(lock, event_of(event)->latest) ? outcome(m, device) : Status::not_ready;
  });
}

Status event_synchronize(int device, void* event) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    if (!event_of(event)->capture.expired())
      return failed(Status::capture, "the event was recorded in a capture");
    m.finish_marker(lock, MarkerRef(event_of(event)->latest));
    return outcome(m, device);
  });
}

Status event_elapsed(int device, void* start, void* end, float* milliseconds) {
  return with_machine(device, [&](Machine&, Machine::Lock&) {
    const MarkerRef a = event_of(start)->latest, b = event_of(end)->latest;
    if (!a || !b) return failed(Status::invalid, "an event was never recorded");
    if (!a->done || !b->done) return Status::not_ready;
    *milliseconds = float((b->time - a->time) / 1000);
    return Status::ok;
  });
}

// ---- graphs -------------------------------------------------------------------------------------

Status capture_begin(int device, void* stream, hal::CaptureMode) {
  return with_machine(device, [&](Machine& m, Machine::Lock&) {
    SimStream* s = m.stream(device, stream);
    if (s->capture) return failed(Status::capture, "the stream is being captured already");
    if (!stream) return failed(Status::capture, "the default stream cannot be captured");
    m.begin_capture(s);
    return Status::ok;
  });
}

Status capture_end(int device, void* stream, void** graph) {
  return with_machine(device, [&](Machine& m, Machine::Lock&) {
    std::shared_ptr<Graph> made;
    const std::string problem = m.end_capture(m.stream(device, stream), made);
    if (!problem.empty()) return failed(Status::capture, problem);
    *graph = new Graph(std::move(*made));
    return Status::ok;
  });
}

Status capture_active(int device, void* stream, bool* out) {
  return with_machine(device, [&](Machine& m, Machine::Lock&) {
    *out = m.stream(device, stream)->capture != nullptr;
    return Status::ok;
  });
}

Status graph_launch(int device, void* graph, void* stream) {
  return with_machine(device, [&](Machine& m, Machine::Lock& lock) {
    for (const Operation& op : static_cast<Graph*>(graph)->operations)
      m.enqueue(lock, m.stream(device, stream), op);
    return Status::ok;
  });
}

Status graph_destroy(int, void* graph) {
  delete static_cast<Graph*>(graph);
  return Status::ok;
}

// Of the simulated machine: what is enqueued and has not run keeps its device busy.
Status reading(int device, hal::Reading what, int64_t* out) {
  using enum hal::Reading;
  const Arena& arena = Arena::instance();
  const auto used = int64_t(arena.used(device)), total = int64_t(arena.capacity(device));
  if (what == memory_used || what == memory_total || what == memory_free) {
    *out = what == memory_used ? used : what == memory_total ? total : std::max(total - used, {});
    return Status::ok;
  }
  if (what != utilization && what != memory_utilization)
    return failed(Status::unsupported, "a simulated GPU has no such sensor");
  return with_machine(device, [&](Machine& m, Machine::Lock&) {
    *out = m.busy(device) ? 100 : 0;
    return Status::ok;
  });
}

Status processes(int device, std::vector<hal::Process>* out) {
  *out = {{::getpid(), int64_t(Arena::instance().used(device))}};
  return Status::ok;
}

Status trace_start(std::string* problem) {
  Machine& m = Machine::instance();
  const auto lock = m.lock();
  if (m.start_trace()) return Status::ok;
  *problem = "the simulated devices are traced already";
  return Status::unsupported;
}

void trace_stop(Activities* add_to) {
  Machine& m = Machine::instance();
  auto lock = m.lock();
  for (int i = 0; i < config().devices; ++i) m.finish_device(lock, i);
  Activities found = m.take_trace();
  m.stop_trace();
  add_to->lost += found.lost;
  for (Activity& a : found.all) add_to->all.push_back(std::move(a));
}

Status availability(std::string* reason) {
  if (config().devices > 0) return Status::ok;
  *reason = config().problem.empty() ? "FLAMBEAU_SIM is not set: there are no simulated devices"
                                     : config().problem;
  return Status::no_gpu;
}

hal::Table make_table() {
  hal::Table t{};
  t.name = "sim";
  t.device_count = [] { return config().devices; };
  t.availability = availability;
  t.properties = properties;
  t.memory_info = memory_info;
  t.synchronize = synchronize;
  t.allocate = allocate;
  t.deallocate = give_back<&Arena::deallocate>;
  t.allocate_host = allocate_host;
  t.deallocate_host = deallocate_host;
  t.reserve = reserve;
  t.release = release;
  t.map = map;
  t.unmap = give_back<&Arena::unmap>;
  t.note_block = note_block;
  t.is_pageable = is_pageable;
  t.copy = copy;
  t.fill = fill;
  t.can_access_peer = [](int, int, bool* out) {
    *out = true;
    return Status::ok;
  };
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
  t.error_text = [](int) { return t_text.get(); };
  t.reading = reading;
  t.processes = processes;
  t.trace_start = trace_start;
  t.trace_launch = [](uint64_t number) { t_launch = number; };
  t.trace_stop = trace_stop;
  t.kernel_column = [](int) {
    return config().emulated_kernels ? KernelColumn::emu : KernelColumn::host;
  };
  return t;
}

}  // namespace
}  // namespace flambeau::sim

const flambeau::hal::Table& flambeau::hal::sim_table() {
  static const Table table = sim::make_table();
  return table;
}
