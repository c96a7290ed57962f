// A profile as a trace that Chrome (chrome://tracing) and Perfetto read: one track per thread and,
// with the devices as processes of their own, per stream; arrows from a forward op to its gradient,
// counters of memory. The keys are those of PyTorch's traces, so that its viewers read it, too.
#include <unistd.h>

#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "observe/profile.h"

namespace flambeau::observe {
namespace {

using json::number;
using probe::Kind;

const char* category(Kind k) {
  constexpr const char* names[] = {"cpu_op", "cpu_op", "user_annotation", "python_function",
                                   "cuda_runtime"};
  return names[int(k)];
}

class Trace {
 public:
  explicit Trace(const flam_profile& profile) : profile_(profile), process_(getpid()) {}

  std::string text() {
    for (const ProfileEvent& e : profile_.events) add(e);
    for (const ProfileActivity& a : profile_.activities) add(a);
    add_links();
    for (const MemoryPoint& m : profile_.memory) add(m);
    add_names();
    return cat_text("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":0,\n",
                    "\"traceEvents\":[\n", out_, "\n]}\n");
  }

 private:
  std::string when(double us) const {  // PyTorch's traces count from the epoch
    return number(double(profile_.epoch_us) + us);
  }

  void line(const std::string& members) {
    out_ += cat_text(out_.empty() ? "" : ",\n", "{", members, "}");
  }

  std::string arguments(const ProfileEvent& e, int64_t id) const {
    std::string args = cat_text("\"External id\":", id);
    if (!e.shapes.empty())
      args += cat_text(",\"Input Dims\":", e.shapes, ",\"Input type\":", json::quoted(e.dtypes));
    if (e.module) args += cat_text(",\"Module Hierarchy\":", json::quoted(e.module));
    if (e.sequence) args += cat_text(",\"Sequence number\":", e.sequence);
    if (profile_.options.memory)
      args += cat_text(
          ",\"Bytes allocated\":", e.host_memory.total.allocated + e.device_memory.total.allocated,
          ",\"Bytes freed\":", e.host_memory.total.freed + e.device_memory.total.freed);
    return args;
  }

  void add(const ProfileEvent& e) {
    const int64_t id = &e - profile_.events.data() + 1;
    threads_.insert(e.thread);
    const std::string args = arguments(e, id), name = json::quoted(e.name);
    const bool module = e.kind == Kind::module;
    line(cat_text("\"ph\":\"X\",\"cat\":\"", category(e.kind),
                  "\",\"name\":", module ? json::quoted("nn.Module: " + e.name) : name,
                  ",\"pid\":", process_, ",\"tid\":", e.thread, ",\"ts\":", when(e.begin_us),
                  ",\"dur\":", number(e.host.total), ",\"args\":{", args, "}"));
    if (e.sequence && e.kind == Kind::op) forward_[e.sequence] = &e;
    if (e.device_begin_us == 0 || !e.device) return;
    streams_.insert({e.device.code(), e.stream});
    line(cat_text("\"ph\":\"X\",\"cat\":\"kernel\",\"name\":", name, ",\"pid\":", e.device.code(),
                  ",\"tid\":", e.stream, ",\"ts\":", when(e.device_begin_us),
                  ",\"dur\":", number(e.of_device.total), ",\"args\":{\"External id\":", id,
                  ",\"device\":", e.device.index, ",\"stream\":", e.stream, "}"));
  }

  // Begins ("s") or ends ("f") an arrow, in what is drawn there.
  void arrow(const char* phase, const char* what, uint64_t id, int64_t pid, int64_t tid,
             double us) {
    line(cat_text("\"ph\":\"", phase, "\",\"id\":", id, ",\"cat\":\"", what, "\",\"name\":\"", what,
                  "\",\"pid\":", pid, ",\"tid\":", tid, ",\"ts\":", when(us), ",\"bp\":\"e\""));
  }

  void add(const ProfileActivity& a) {
    constexpr const char* categories[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    const int64_t id = &a - profile_.activities.data() + 1;
    streams_.insert({a.device.code(), a.stream});
    line(cat_text("\"ph\":\"X\",\"cat\":\"", categories[int(a.kind)],
                  "\",\"name\":", json::quoted(a.name), ",\"pid\":", a.device.code(),
                  ",\"tid\":", a.stream, ",\"ts\":", when(a.begin_us),
                  ",\"dur\":", number(a.length_us), ",\"args\":{\"External id\":", a.event + 1,
                  ",\"correlation\":", id, ",\"device\":", a.device.index, ",\"stream\":", a.stream,
                  ",\"symbol\":", json::quoted(a.symbol), "}"));
    if (a.event < 0) return;
    arrow("s", "ac2g", id, process_, profile_.events[size_t(a.event)].thread, a.asked_us);
    arrow("f", "ac2g", id, a.device.code(), a.stream, a.begin_us);
  }

  void add_links() {
    for (const ProfileEvent& e : profile_.events) {
      const auto found = forward_.find(e.sequence);
      if (e.kind != Kind::backward || found == forward_.end()) continue;
      const ProfileEvent& forward = *found->second;
      arrow("s", "fwdbwd", e.sequence, process_, forward.thread, forward.begin_us);
      arrow("f", "fwdbwd", e.sequence, process_, e.thread, e.begin_us);
    }
  }

  void add(const MemoryPoint& m) {
    const std::string device = to_string(m.device);
    line(cat_text("\"ph\":\"C\",\"cat\":\"memory\",\"name\":", json::quoted("memory of " + device),
                  ",\"pid\":", process_, ",\"ts\":", when(m.time_us),
                  ",\"args\":{\"allocated\":", m.total, "}"));
    line(cat_text("\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",",
                  "\"pid\":", process_, ",\"tid\":", m.thread, ",\"ts\":", when(m.time_us),
                  ",\"args\":{\"Device\":", json::quoted(device), ",\"Bytes\":", m.bytes,
                  ",\"Total Allocated\":", m.total, "}"));
  }

  void name(const char* what, int64_t pid, int64_t tid, const std::string& text) {
    line(cat_text("\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", pid, ",\"tid\":", tid,
                  ",\"args\":{\"name\":", json::quoted(text), "}"));
  }

  void add_names() {
    name("process_name", process_, 0, "flambeau");
    for (const int64_t thread : threads_)
      name("thread_name", process_, thread,
           cat_text("thread ", thread, thread == process_ ? " (main)" : ""));
    for (const auto& [device, stream] : streams_) {
      name("process_name", device, 0, to_string(Device::from_code(device)));
      name("thread_name", device, stream, cat_text("stream ", stream));
    }
  }

  const flam_profile& profile_;
  int64_t process_;
  std::string out_;
  std::set<int64_t> threads_;
  std::set<std::pair<int32_t, uint32_t>> streams_;
  std::map<uint64_t, const ProfileEvent*> forward_;
};

}  // namespace

std::string chrome_trace(const flam_profile& profile) { return Trace(profile).text(); }

}  // namespace flambeau::observe
