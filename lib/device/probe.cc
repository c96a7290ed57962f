// The probe's lists. A thread's list is made when it first tells something and is never freed, but
// serves another thread after its own has ended: a late `end` finds it alive. Each has a lock of
// its own, which only stop() contends for; a session number tells old tokens from new ones.
#include "device/probe.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread_local.h"
#include "device/allocator.h"
#include "device/call.h"
#include "device/devices.h"
#include "device/graph.h"
#include "device/label.h"
#include "device/probe_launch.h"
#include "device/probe_record.h"

namespace flambeau::probe {
namespace {

struct Log {
  std::mutex mutex;
  uint32_t session = 0, number = 0;
  ThreadRecord record;
  std::vector<int32_t> open;  // spans that are, innermost last
  bool owned = true;          // by a thread that lives
};

struct Session {
  std::mutex life;  // of start and stop, which wait for devices; no recording thread takes it
  std::mutex mutex;
  std::vector<std::unique_ptr<Log>> logs;
  Options options;
  int64_t begin_ns = 0, epoch_ns = 0;
  std::vector<std::pair<Device, int64_t>> allocated;
};

Session& session() {
  static Session& s = *new Session;
  return s;
}

std::atomic<uint32_t> g_session{0};
std::atomic<int64_t> g_lost{0};
std::atomic<bool> g_shapes{false}, g_memory{false}, g_modules{false}, g_device_time{false};

// Providers that were asked in this session to trace, at the first work for one of their devices:
// whether they do. A profile of the cpu leaves the driver alone.
struct Tracing {
  std::mutex mutex;
  std::vector<std::pair<const hal::Table*, bool>> asked;
  Activities found;
};
Tracing& tracing() {
  static Tracing& t = *new Tracing;
  return t;
}

bool is_traced(Device d) {
  const hal::Table& table = hal::table_of(d);
  if (!table.trace_start || !fork::may_use()) return false;
  Tracing& t = tracing();
  const std::lock_guard lock(t.mutex);
  const auto known = std::ranges::find(t.asked, &table, [](const auto& a) { return a.first; });
  if (known != t.asked.end()) return known->second;
  t.asked.emplace_back(&table, false);
  return t.asked.back().second = table.trace_start(&t.found.problem) == hal::Status::ok;
}

// Ending a trace waits for its devices, which would break a capture.
void check_no_capture() {
  Tracing& t = tracing();
  const std::lock_guard lock(t.mutex);
  for (const CachingAllocator* a : all_allocators()) {
    const auto known = std::ranges::find(t.asked, std::pair{&hal::table_of(a->device()), true});
    check(known == t.asked.end() || !a->capturing(), Code::graph_capture, "the profiler waits for ",
          to_string(a->device()),
          " when it stops, and a stream is captured on it; stop the profiler after the capture");
  }
}

Activities end_traces() {
  Tracing& t = tracing();
  const std::lock_guard lock(t.mutex);
  for (const auto& [table, does] : std::exchange(t.asked, {}))
    if (does) table->trace_stop(&t.found);
  return std::exchange(t.found, {});
}

FLAM_THREAD_LOCAL Log* t_log = nullptr;
FLAM_THREAD_LOCAL bool t_ended = false;
FLAM_THREAD_LOCAL bool t_inside = false;  // the probe's own events are no work of the program's

struct AtThreadEnd {
  ~AtThreadEnd() {
    t_ended = true;
    if (!t_log) return;
    std::lock_guard lock(session().mutex);
    t_log->owned = false;
    t_log = nullptr;
  }
  void touch() {}
};
thread_local AtThreadEnd t_at_end;

Log* make_log() {
  if (t_ended) return nullptr;
  t_at_end.touch();
  Session& s = session();
  std::lock_guard lock(s.mutex);
  for (auto& l : s.logs) {
    std::lock_guard inner(l->mutex);
    const ThreadRecord& r = l->record;
    if (l->owned || !r.spans.empty() || !r.memory.empty() || !r.launches.empty() ||
        !r.transfers.empty())
      continue;
    l->owned = true;
    l->session = 0;  // its next event is of another thread
    return t_log = l.get();
  }
  s.logs.push_back(std::make_unique<Log>());
  s.logs.back()->number = uint32_t(s.logs.size());
  return t_log = s.logs.back().get();
}

// This thread's list, locked, while a session runs; null where there is none.
class Locked {
 public:
  Locked() : log_(t_log ? t_log : make_log()) {
    if (!log_) return;
    lock_ = std::unique_lock(log_->mutex);
    if (!on()) {
      log_ = nullptr;
      return;
    }
    const uint32_t session = g_session.load(std::memory_order_relaxed);
    if (log_->session == session) return;
    log_->session = session;
    log_->record = {};
    log_->open.clear();
    log_->record.id = int64_t(::syscall(SYS_gettid));
    log_->record.number = log_->number;
  }
  Log* operator->() const { return log_; }
  Log& operator*() const { return *log_; }
  explicit operator bool() const { return log_ != nullptr; }

 private:
  Log* log_;
  std::unique_lock<std::mutex> lock_;
};

int32_t new_event(Log& log, Stream stream) {
  Event event(stream.device, true);
  event.record(stream);
  log.record.events.push_back(std::move(event));
  return int32_t(log.record.events.size()) - 1;
}

// An event of the device where it keeps time and no trace does; its failures are not the program's.
int32_t mark_device(Log& log, Device device, uint32_t* out_stream) noexcept {
  if (device.is_cpu() || !device || !g_device_time.load(std::memory_order_relaxed)) return -1;
  t_inside = true;
  int32_t made = -1;
  try {
    const Stream stream = current_stream(device);
    *out_stream = stream.id;
    if (is_traced(device)) return t_inside = false, -1;
    auto& anchors = log.record.anchors;
    const bool known =
        std::ranges::any_of(anchors, [&](const Anchor& a) { return a.device == device; });
    if (!is_capturing(stream)) {
      if (!known) {
        Event first(device, true);
        first.record(stream);
        anchors.push_back({device, steady_ns(), std::move(first)});
      }
      made = new_event(log, stream);
    }
  } catch (...) {  // without an event the span has no device time
  }
  t_inside = false;
  return made;
}

Token open(Log& log, SpanRecord span, Device device) {
  span.parent = log.open.empty() ? -1 : log.open.back();
  span.module = t_label.module;
  span.device = device;
  span.begin_event = mark_device(log, device, &span.stream);
  span.begin_ns = span.end_ns = steady_ns();
  log.record.spans.push_back(span);
  log.open.push_back(int32_t(log.record.spans.size()) - 1);
  return Token(log.session) << 32 | Token(log.record.spans.size());
}

template <class F> Token recorded(F&& f) noexcept {
  if (t_inside) return 0;
  try {
    Locked log;
    return log ? f(*log) : 0;
  } catch (...) {
    g_lost.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
}

// "add", "add_" and "add_out" are one op.
bool is_form_of(const char* function, const char* op) {
  const size_t n = std::strlen(op);
  if (std::strncmp(function, op, n) != 0) return false;
  const char* rest = function + n;
  return !*rest || !std::strcmp(rest, "_") || !std::strcmp(rest, "_out");
}

// The ABI's function that was opened last and has done nothing yet.
SpanRecord* adoptable(Log& log, const char* name) {
  if (log.open.empty() || log.open.back() + 1 != int32_t(log.record.spans.size())) return nullptr;
  SpanRecord& last = log.record.spans.back();
  const bool fresh = last.kind == Kind::op && !last.device && is_form_of(last.name, name);
  return fresh ? &last : nullptr;
}

void add_shapes(Log& log, SpanRecord& span, std::span<const int64_t> shapes) {
  auto& all = log.record.shapes;
  span.shapes_at = uint32_t(all.size());
  all.insert(all.end(), shapes.begin(), shapes.end());
  span.shapes_size = uint32_t(shapes.size());
}

void close(Log& log, SpanRecord& span, int64_t now) {
  if (span.begin_event >= 0) span.end_event = mark_device(log, span.device, &span.stream);
  span.end_ns = now;
}

}  // namespace

bool wants_shapes() noexcept { return g_shapes.load(std::memory_order_relaxed); }
bool wants_modules() noexcept { return g_modules.load(std::memory_order_relaxed); }

Token begin(Kind kind, const char* name) noexcept {
  return recorded([&](Log& log) { return open(log, {.name = name, .kind = kind}, Device{}); });
}

Token begin_backward(const char* name, uint64_t sequence) noexcept {
  return recorded([&](Log& log) {
    return open(log, {.name = name, .sequence = sequence, .kind = Kind::backward}, Device{});
  });
}

Token begin_op(const char* name, Device device, std::span<const int64_t> shapes) noexcept {
  return recorded([&](Log& log) -> Token {
    SpanRecord span{.name = name};
    SpanRecord* adopted = adoptable(log, name);
    add_shapes(log, adopted ? *adopted : span, shapes);
    if (!adopted) return open(log, span, device);
    adopted->device = device;
    adopted->begin_event = mark_device(log, device, &adopted->stream);
    return 0;
  });
}

void end(Token token) noexcept {
  const int64_t now = steady_ns();
  recorded([&](Log& log) -> Token {
    const auto index = int32_t(token & 0xffffffff) - 1;
    if (uint32_t(token >> 32) != log.session) return 0;
    if (std::ranges::find(log.open, index) == log.open.end()) return 0;
    while (log.open.back() >= index) {
      const int32_t last = log.open.back();
      log.open.pop_back();
      close(log, log.record.spans[size_t(last)], now);
      if (last == index) break;
    }
    return 0;
  });
}

void note_sequence(uint64_t sequence) noexcept {
  recorded([&](Log& log) -> Token {
    if (!log.open.empty()) log.record.spans[size_t(log.open.back())].sequence = sequence;
    return 0;
  });
}

void note_memory(Device device, int64_t bytes) noexcept {
  if (!g_memory.load(std::memory_order_relaxed)) return;
  recorded([&](Log& log) -> Token {
    log.record.memory.push_back(
        {steady_ns(), bytes, log.open.empty() ? -1 : log.open.back(), device});
    return 0;
  });
}

Asked asked_now() noexcept {
  return on() ? Asked{steady_ns(), int64_t(::syscall(SYS_gettid))} : Asked{};
}

void note_transfer(Transfer transfer, bool inside) noexcept {
  if (!on()) return;
  recorded([&](Log& log) -> Token {
    if (inside && !log.open.empty()) transfer.span = log.open.back();
    log.record.transfers.push_back(std::move(transfer));
    return 0;
  });
}

void Launch::begin(Device d, const char* name) noexcept {
  if (!g_device_time.load(std::memory_order_relaxed)) return;
  recorded([&](Log& log) -> Token {
    if (!is_traced(d)) return 0;
    log.record.launches.push_back({name, steady_ns(), log.open.empty() ? -1 : log.open.back()});
    marked_ = &hal::table_of(d);
    marked_->trace_launch(uint64_t(log.number) << 32 | log.record.launches.size());
    return 0;
  });
}

bool running() noexcept { return on(); }

void start(const Options& options) {
  std::vector<std::pair<Device, int64_t>> allocated;
  for (CachingAllocator* a : all_allocators())
    allocated.emplace_back(a->device(), memory_stats(a->device()).allocated_bytes.of[0].current);
  Session& s = session();
  const std::lock_guard life(s.life);
  const std::lock_guard lock(s.mutex);
  check(!on(), Code::invalid_argument,
        "the profiler is running already; stop it before it is started again");
  s.options = options;
  s.allocated = std::move(allocated);
  s.begin_ns = steady_ns();
  s.epoch_ns = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  g_shapes = options.shapes;
  g_memory = options.memory;
  g_modules = options.modules;
  g_device_time = options.device_time;
  g_lost = 0;
  ++g_session;
  g_on = true;
}

// What was recorded, up to now; from here on nothing is.
static Recorded take(Session& s) {
  const std::lock_guard lock(s.mutex);
  Recorded out;
  out.threads.reserve(s.logs.size());
  g_on = false;
  out.end_ns = steady_ns();
  out.options = s.options;
  out.begin_ns = s.begin_ns;
  out.epoch_ns = s.epoch_ns;
  out.allocated = std::move(s.allocated);
  out.lost = g_lost;
  for (auto& log : s.logs) {
    std::lock_guard inner(log->mutex);
    if (log->session != g_session.load()) continue;
    for (const int32_t i : log->open) log->record.spans[size_t(i)].end_ns = out.end_ns;
    log->open.clear();
    out.threads.push_back(std::move(log->record));
    log->record = {};
  }
  return out;
}

Recorded stop() {
  Session& s = session();
  const std::lock_guard lock(s.life);
  check(on(), Code::invalid_argument, "the profiler is not running; start it first");
  check_no_capture();
  Recorded out = take(s);
  out.traced = end_traces();
  return out;
}

}  // namespace flambeau::probe
