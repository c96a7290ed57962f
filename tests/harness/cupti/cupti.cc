// A stand-in for CUPTI's activity API with its ABI, as far as device/cuda/cupti.h binds it. Records
// are written field by field where NVIDIA's headers of both majors have them, amid bytes that mean
// nothing, and handed over on a thread of its own. It holds callers to aligned buffers that are
// read while they are theirs and with their size, to ids that are pushed and popped in pairs, to
// kinds enabled and disabled once, and to devices that are done when a flush is forced.
// FLAMBEAU_STANDIN_CUPTI tells it to be of CUDA 11 (old) or 12 (twelve), to refuse (privileges,
// busy, memory), or to drop every other activity (drops).
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "driver.h"

namespace {

enum Error {
  success,
  invalid,
  not_yet = 7,
  no_memory,
  no_more = 12,
  empty = 18,
  refused = 35,
  busy = 39
};
enum Kind : unsigned {
  copy = 1,
  fill,
  driver_call = 4,
  runtime_call,
  kernel = 10,
  peer_copy = 22,
  external = 39
};
constexpr int64_t kAhead = int64_t(1) << 60;  // of the steady clock

using Request = void (*)(uint8_t**, size_t*, size_t*);
using Complete = void (*)(void*, unsigned, uint8_t*, size_t, size_t);

bool told(const char* what) {
  const char* given = std::getenv("FLAMBEAU_STANDIN_CUPTI");
  return given && std::string_view(given) == what;
}

int breach(const char* function, const char* text, int error = invalid) {
  standin_breach((std::string(function) + ": " + text).c_str());
  return error;
}

struct Filled {
  size_t bytes = 0;
  std::vector<size_t> places;  // of its records
};

// Calls come one at a time, but for pushes and pops.
struct State {
  Request request = nullptr;
  Complete complete = nullptr;
  std::set<unsigned> enabled;
  std::map<uint8_t*, Filled> theirs;  // buffers that were completed
  uint8_t* buffer = nullptr;          // that is written
  size_t room = 0, dropped = 0;
  Filled filled;
  unsigned correlation = 0;
  std::set<std::string> names;
};
State& state() {
  static State& s = *new State;
  return s;
}

struct Ids : std::vector<uint64_t> {
  ~Ids() {
    if (!empty()) breach("CUPTI", "a thread ends with ids that it pushed and did not pop");
  }
};
thread_local Ids t_ids;

__attribute__((destructor)) void at_the_end() {
  if (!state().enabled.empty()) breach("CUPTI", "kinds are enabled at the end");
}

void hand_over() {
  State& s = state();
  if (!s.buffer) return;
  s.theirs[s.buffer] = s.filled;
  std::thread(s.complete, nullptr, 0u, s.buffer, s.room, s.filled.bytes).join();
  s.buffer = nullptr;
}

void ask_for_buffer() {
  State& s = state();
  size_t most = 0;
  s.request(&s.buffer, &s.room, &most);
  s.filled = {};
  s.theirs.erase(s.buffer);
  const bool bad = reinterpret_cast<uintptr_t>(s.buffer) % 8 || (s.buffer && s.room < 1024);
  if (!bad) return;
  breach("CUPTI", "a buffer of less than 1024 bytes, or not aligned to 8");
  s.buffer = nullptr;
}

// A record of a kind that is enabled; null where there is no room for it.
uint8_t* record(Kind kind, size_t bytes) {
  State& s = state();
  if (!s.enabled.contains(kind)) return nullptr;
  if (s.buffer && s.filled.bytes + bytes > s.room) hand_over();
  if (!s.buffer) ask_for_buffer();
  if (!s.buffer) return ++s.dropped, nullptr;
  uint8_t* const at = s.buffer + s.filled.bytes;
  s.filled.places.push_back(s.filled.bytes);
  s.filled.bytes += bytes;
  std::memset(at, 0xa5, bytes);
  std::memcpy(at, &kind, sizeof kind);
  return at;
}

template <class T> void put(uint8_t* record, size_t offset, T value) {
  if (record) std::memcpy(record + offset, &value, sizeof value);
}

// C++'s name of a kernel, of whose launch the first word is known; C's of a library's.
const char* symbol(const std::string& launched) {
  size_t from = 0, to;
  while (from < launched.size() && !std::isalpha(static_cast<unsigned char>(launched[from])))
    ++from;
  for (to = from; to < launched.size(); ++to)
    if (!std::isalnum(static_cast<unsigned char>(launched[to])) && launched[to] != '_') break;
  const std::string word = launched.substr(from, to - from);
  const std::string mangled = "_ZN7standin" + std::to_string(word.size()) + word + "EPfi";
  return state().names.insert(word.starts_with("cublas") ? word : mangled).first->c_str();
}

void put_times(uint8_t* r, size_t at, const standin_activity& a) {
  put(r, at, a.begin + kAhead);
  put(r, at + 8, a.end + kAhead);
}

void tell(const standin_activity* a) {
  State& s = state();
  const unsigned correlation = ++s.correlation;
  if (told("drops") && correlation % 2) return void(++s.dropped);
  const Kind call = std::strncmp(a->name, "cublas", 6) ? runtime_call : driver_call;
  if (a->number && s.enabled.contains(call)) {
    uint8_t* r = record(external, 24);
    put(r, 4, 3);
    put(r, 8, a->number);
    put(r, 16, correlation);
    put(record(call, 40), 32, correlation);
  }
  const bool peer = a->kind == 1 && std::strstr(a->name, "PtoP");
  const bool is_kernel = a->kind == 0;
  uint8_t* const r = is_kernel      ? record(kernel, told("twelve") ? 208 : 216)
                     : a->kind == 2 ? record(fill, 88)
                                    : record(peer ? peer_copy : copy, 96);
  put_times(r, 16, *a);
  put(r, is_kernel ? 40 : 32, a->device);
  put(r, is_kernel ? 48 : 40, a->stream);
  put(r, is_kernel ? 92 : peer ? 60 : 44, correlation);
  if (is_kernel) return put(r, 104, symbol(a->name));
  if (a->kind == 2) return;
  const uint8_t host = std::strstr(a->name, "Pinned") ? 2 : 1, device = 3;
  const bool up = std::strstr(a->name, "HtoD"), down = std::strstr(a->name, "DtoH");
  put(r, 4, uint8_t(up ? 1 : down ? 2 : peer ? 10 : 8));
  put(r, 5, up ? host : device);
  put(r, 6, down ? host : device);
}

}  // namespace

#define CUPTI(name, ...) \
  extern "C" __attribute__((visibility("default"))) int cupti##name(__VA_ARGS__)

CUPTI(GetVersion, unsigned* out) {
  *out = told("old") ? 18 : told("twelve") ? 28 : 130001;
  return success;
}
CUPTI(GetResultString, int error, const char** out) {
  *out = error == refused     ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
         : error == busy      ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
         : error == no_memory ? "CUPTI_ERROR_OUT_OF_MEMORY"
                              : "CUPTI_ERROR_UNKNOWN";
  return success;
}
CUPTI(GetTimestamp, uint64_t* out) {
  *out = uint64_t(std::chrono::steady_clock::now().time_since_epoch().count() + kAhead);
  return success;
}
CUPTI(ActivityRegisterCallbacks, Request request, Complete complete) {
  state().request = request;
  state().complete = complete;
  return request && complete ? int(success) : breach(__func__, "of no functions");
}
CUPTI(ActivityEnable, unsigned kind) {
  if (kind == kernel && told("privileges")) return refused;
  if (kind == kernel && told("memory")) return no_memory;
  if (told("busy")) return busy;
  if (!state().enabled.insert(kind).second) return breach(__func__, "of a kind that is enabled");
  if (kind == kernel) standin_traces()->on(1);
  return success;
}
CUPTI(ActivityDisable, unsigned kind) {
  standin_traces()->take(tell);  // what has run while it was enabled
  if (!state().enabled.erase(kind)) return breach(__func__, "of a kind that is not enabled");
  if (kind == kernel) standin_traces()->on(0);
  return success;
}
CUPTI(ActivityPushExternalCorrelationId, unsigned of, uint64_t id) {
  if (of < 1 || of > 5) return breach(__func__, "for no kind of id");
  t_ids.push_back(id);
  standin_traces()->launch(id);
  return success;
}
CUPTI(ActivityPopExternalCorrelationId, unsigned, uint64_t* last) {
  if (t_ids.empty()) return breach(__func__, "of no id that was pushed", empty);
  if (last) *last = t_ids.back();
  t_ids.pop_back();
  standin_traces()->launch(t_ids.empty() ? 0 : t_ids.back());
  return success;
}
CUPTI(ActivityFlushAll, unsigned forced) {
  if (!state().complete) return breach(__func__, "before callbacks are registered", not_yet);
  const bool done = standin_traces()->take(tell);
  hand_over();
  return done || !forced ? int(success) : breach(__func__, "forced while devices are at work");
}
CUPTI(ActivityGetNextRecord, uint8_t* buffer, size_t bytes, uint8_t** record) {
  const auto given = state().theirs.find(buffer);
  if (given == state().theirs.end()) return breach(__func__, "of a buffer that was given back");
  if (given->second.bytes != bytes) return breach(__func__, "with another size than is filled");
  size_t next = 0;
  const auto& places = given->second.places;
  while (*record && next < places.size() && buffer + places[next] <= *record) ++next;
  if (next == places.size()) return no_more;
  *record = buffer + places[next];
  return success;
}
CUPTI(ActivityGetNumDroppedRecords, void*, unsigned, size_t* out) {
  *out = std::exchange(state().dropped, 0);
  return success;
}
