// A profile as a trace that Chrome (chrome://tracing) and Perfetto read: one track per thread and,
// with the devices as processes of their own, per stream; arrows from a forward op to its gradient,
// counters of memory. The keys are those of PyTorch's traces, so that its viewers read it, too. In
// a trace of several ranks each has numbers of its own for its processes and arrows.
#include <unistd.h>

#include <map>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "observe/profile.h"
#include "observe/trace_transfer.h"

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
  // `of`: the rank where the trace has several; else null.
  Trace(const flam_profile& profile, const RankOfTrace* of)
      : profile_(profile), of_(of), process_(of ? of->rank * kNumbersOfRank : int64_t(getpid())) {
    const int64_t epoch_ns = job_epoch_ns.load();
    base_us_ = epoch_ns ? double(profile.steady_ns + epoch_ns) / 1e3 : double(profile.epoch_us);
  }

  std::string events() {
    for (const ProfileEvent& e : profile_.events) add(e);
    for (const ProfileActivity& a : profile_.activities) add(a);
    for (const ProfileTransfer& t : profile_.transfers) add(t);
    add_links();
    for (const MemoryPoint& m : profile_.memory) add(m);
    add_names();
    return std::move(out_);
  }

 private:
  static constexpr int64_t kNumbersOfRank = 1000;

  std::string when(double us) const {  // PyTorch's traces count from the epoch
    return number(base_us_ + us);
  }

  int64_t process_of(Device device) {
    const auto [at, fresh] = devices_.try_emplace(device.code(), int64_t(devices_.size()) + 1);
    return of_ ? process_ + at->second : device.code();
  }

  uint64_t id_of(uint64_t id) const { return of_ ? uint64_t(of_->rank + 1) << 40 | id : id; }

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
    line(cat_text("\"ph\":\"X\",\"cat\":\"kernel\",\"name\":", name, ",\"pid\":",
                  process_of(e.device), ",\"tid\":", e.stream, ",\"ts\":", when(e.device_begin_us),
                  ",\"dur\":", number(e.of_device.total), ",\"args\":{\"External id\":", id,
                  ",\"device\":", e.device.index, ",\"stream\":", e.stream, "}"));
  }

  // Begins ("s") or ends ("f") an arrow, in what is drawn there.
  void arrow(const char* phase, const char* what, uint64_t id, int64_t pid, int64_t tid,
             double us) {
    line(cat_text("\"ph\":\"", phase, "\",\"id\":", id_of(id), ",\"cat\":\"", what,
                  "\",\"name\":\"", what, "\",\"pid\":", pid, ",\"tid\":", tid,
                  ",\"ts\":", when(us), ",\"bp\":\"e\""));
  }

  void add(const ProfileActivity& a) {
    constexpr const char* categories[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    const int64_t id = &a - profile_.activities.data() + 1;
    streams_.insert({a.device.code(), a.stream});
    line(cat_text("\"ph\":\"X\",\"cat\":\"", categories[int(a.kind)],
                  "\",\"name\":", json::quoted(a.name), ",\"pid\":", process_of(a.device),
                  ",\"tid\":", a.stream, ",\"ts\":", when(a.begin_us),
                  ",\"dur\":", number(a.length_us), ",\"args\":{\"External id\":", a.event + 1,
                  ",\"correlation\":", id, ",\"device\":", a.device.index, ",\"stream\":", a.stream,
                  ",\"symbol\":", json::quoted(a.symbol), "}"));
    if (a.event < 0) return;
    arrow("s", "ac2g", id, process_, profile_.events[size_t(a.event)].thread, a.asked_us);
    arrow("f", "ac2g", id, process_of(a.device), a.stream, a.begin_us);
  }

  // Of the thread that asked for it an arrow leads to where the bytes move.
  void add(const ProfileTransfer& t) {
    const uint64_t id = uint64_t(&t - profile_.transfers.data()) + 1;
    lanes_.emplace(t.lane, t.told.channel.get());
    line(cat_text("\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":", json::quoted(t.name),
                  ",\"pid\":", process_, ",\"tid\":", t.lane, ",\"ts\":", when(t.begin_us),
                  ",\"dur\":", number(t.length_us), ",\"args\":{", transfer_arguments(t), "}"));
    if (!t.told.asked.thread) return;
    arrow("s", "communication", id, process_, t.told.asked.thread, t.asked_us);
    arrow("f", "communication", id, process_, t.lane, t.begin_us);
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

  void name_process(int64_t process, const std::string& text) {
    name("process_name", process, 0, of_ ? cat_text("rank ", of_->rank, text) : text);
    if (!of_) return;
    line(cat_text("\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":", process,
                  ",\"tid\":0,\"args\":{\"sort_index\":", process, "}"));
  }

  void add_names() {
    name_process(process_, of_ ? cat_text(" (", of_->host, ", ", getpid(), ")") : "flambeau");
    for (const int64_t thread : threads_)
      name("thread_name", process_, thread,
           cat_text("thread ", thread, thread == getpid() ? " (main)" : ""));
    for (const auto& [lane, channel] : lanes_)
      name("thread_name", process_, lane,
           cat_text("communication of ", channel->group, " (", channel->ranks.size(), " ranks)"));
    for (const auto& [code, stream] : streams_) {
      const Device device = Device::from_code(code);
      name_process(process_of(device), (of_ ? ": " : "") + to_string(device));
      name("thread_name", process_of(device), stream, cat_text("stream ", stream));
    }
  }

  const flam_profile& profile_;
  const RankOfTrace* const of_;
  const int64_t process_;
  double base_us_;
  std::string out_;
  std::set<int64_t> threads_;
  std::map<int64_t, const probe::Channel*> lanes_;
  std::map<int32_t, int64_t> devices_;
  std::set<std::pair<int32_t, uint32_t>> streams_;
  std::map<uint64_t, const ProfileEvent*> forward_;
};

}  // namespace

std::string chrome_trace(const flam_profile& profile, const probe::Channel* job) {
  return cat_text(kTraceHead, Trace(profile, nullptr).events(), "\n]", job_members(profile, job),
                  "}\n");
}

std::string rank_trace(const flam_profile& profile, const RankOfTrace& of) {
  return Trace(profile, &of).events();
}

}  // namespace flambeau::observe
