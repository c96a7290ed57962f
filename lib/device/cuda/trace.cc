// A trace by CUPTI. Its records come in buffers, on threads of its own and in no order: a kernel's
// names a call of CUDA ("correlation"), another record that call's number of ours; both are kept,
// and meet at the end.
#include "device/cuda/trace.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/availability.h"
#include "device/cuda/cupti.h"
#include "device/cuda/status.h"

namespace flambeau::cuda {
namespace {

using namespace cupti;
using hal::Status;

// Calls of the runtime and the driver stand in records of their own, without which CUPTI ties
// nothing to our numbers; vendors' libraries launch by the driver's.
constexpr Kind kKinds[] = {kExternal, kRuntimeCall, kDriverCall, kKernel,
                           kMemcpy,   kPeerCopy,    kMemset};
constexpr size_t kBuffer = 1 << 20;

struct Trace {
  std::mutex mutex;
  const Functions* library = nullptr;              // once it was found
  int64_t to_steady = 0;                           // what takes CUPTI's clock to the host's
  std::vector<Activity> activities;                // `launch` is the correlation
  std::unordered_map<uint64_t, uint64_t> numbers;  // by correlation
  int64_t lost = 0;
};
Trace& trace() {
  static Trace& t = *new Trace;
  return t;
}

std::string readable(const char* name) {
  if (!name) return "kernel";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return plain ? plain.get() : name;
}

// "Memcpy HtoD (Pageable -> Device)", as PyTorch has it.
std::string copy_name(uint8_t way, uint8_t from, uint8_t to) {
  constexpr const char* ways[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                  "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  constexpr const char* memory[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                    "Array",   "Managed",  "Device Static", "Managed Static"};
  return cat_text("Memcpy ", ways[way < std::size(ways) ? way : 0], " (",
                  memory[from < std::size(memory) ? from : 0], " -> ",
                  memory[to < std::size(memory) ? to : 0], ")");
}

template <class T> T field(const char* record, size_t at) {
  T value;
  std::memcpy(&value, record + at, sizeof value);
  return value;
}

std::string name_of(const char* record, Activity::Kind kind) {
  if (kind == Activity::Kind::fill) return "Memset (Device)";
  if (kind == Activity::Kind::kernel) return readable(field<const char*>(record, kName));
  return copy_name(field<uint8_t>(record, kCopyWay), field<uint8_t>(record, kCopyFrom),
                   field<uint8_t>(record, kCopyTo));
}

void add(Trace& t, const char* record) {
  const auto kind = field<Kind>(record, 0);
  if (kind == kExternal && field<uint32_t>(record, kExternalOf) == kCustom0)
    t.numbers[field<uint32_t>(record, kExternalCall)] = field<uint64_t>(record, kExternalId);
  const auto l = std::ranges::find(kLayouts, kind, &Layout::kind);
  if (l == std::end(kLayouts)) return;
  const auto begin = field<int64_t>(record, kStart), end = field<int64_t>(record, kEnd);
  if (begin == 0 || end < begin) return void(++t.lost);  // CUPTI had no memory for the times
  const Device device{DeviceType::cuda, int16_t(field<uint32_t>(record, l->device))};
  t.activities.push_back({l->is, name_of(record, l->is), device, field<uint32_t>(record, l->stream),
                          begin + t.to_steady, end + t.to_steady,
                          field<uint32_t>(record, l->correlation)});
}

void give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::malloc(kBuffer));  // without one CUPTI drops records
  *bytes = *buffer ? kBuffer : 0;
  *most_records = 0;  // as many as fit
}

void take_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
  Trace& t = trace();
  const std::lock_guard lock(t.mutex);
  const char* record = nullptr;
  while (t.library->next_record(buffer, valid, &record) == kSuccess) {
    try {
      add(t, record);
    } catch (const std::bad_alloc&) {
      ++t.lost;
    }
  }
  std::free(buffer);
  size_t dropped = 0;
  if (t.library->dropped(context, stream, &dropped) == kSuccess) t.lost += int64_t(dropped);
}

// The offset between two looks at one clock is wrong by half of what lies between them at most.
int begin(const Functions& f) {
  Trace& t = trace();
  uint64_t theirs = 0;
  const int64_t before = steady_ns();
  if (const int problem = f.timestamp(&theirs); problem != kSuccess) return problem;
  {
    const std::lock_guard lock(t.mutex);  // a buffer of an earlier trace may come late
    t.to_steady = (before + steady_ns()) / 2 - int64_t(theirs);
  }
  int problem = f.callbacks(give_buffer, take_buffer);
  size_t enabled = 0;
  while (problem == kSuccess && enabled < std::size(kKinds)) {
    problem = f.enable(kKinds[enabled]);
    enabled += problem == kSuccess;
  }
  if (problem != kSuccess)
    for (size_t i = 0; i < enabled; ++i) f.disable(kKinds[i]);
  return problem;
}

const char* hint(int problem) {
  return problem == kNoPrivileges ? ": the driver keeps profiling for administrators (its option "
                                    "NVreg_RestrictProfilingToAdminUsers=0, or CAP_SYS_ADMIN)"
         : problem == kOtherProfiler ? ": another profiler has it (Nsight, or another library's)"
                                     : "";
}

}  // namespace

Status trace_start(std::string* problem) try {
  Trace& t = trace();
  const Functions& f = functions();
  {
    const std::lock_guard lock(t.mutex);
    t.library = &f;
    t.activities.clear();
    t.numbers.clear();
    t.lost = 0;
  }
  const int refused = begin(f);
  if (refused == kSuccess) return Status::ok;
  const char* name = "";
  f.result_string(refused, &name);
  *problem = cat_text("CUPTI answers ", name, hint(refused));
  return Status::unsupported;
} catch (const Error& e) {
  *problem = e.what();
  return Status::unsupported;
}

// Of the calls that this thread makes in between, which may be several.
void trace_launch(uint64_t number) {
  const Functions& f = functions();
  if (number)
    f.push(kCustom0, number);
  else
    f.pop(kCustom0, nullptr);
}

void trace_stop(Activities* add_to) {
  Trace& t = trace();
  const Functions& f = functions();
  for (int i = 0; i < availability().devices; ++i)
    if (has_context(i)) on_device(i, [] { return cudaDeviceSynchronize(); });
  for (const Kind kind : kKinds) f.disable(kind);
  f.flush(kFlushForced);
  size_t dropped = 0;
  f.dropped(nullptr, 0, &dropped);
  const std::lock_guard lock(t.mutex);
  add_to->lost += t.lost + int64_t(dropped);
  for (Activity& a : t.activities) {
    const auto known = t.numbers.find(uint32_t(a.launch));
    a.launch = known == t.numbers.end() ? 0 : known->second;
    add_to->all.push_back(std::move(a));
  }
  t.activities = {};
  t.numbers = {};
}

}  // namespace flambeau::cuda
