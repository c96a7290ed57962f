// Handles that are written down: those of open frames, to be released when the frame pops, and
// all of them while leaks are tracked. Off, both cost one test per call. A frame counts handles,
// not objects: an object returned twice stands in it twice, and each release strikes out one.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include "capi/gen/targets.h"
#include "capi/guard.h"
#include "capi/scope_stack.h"

namespace flambeau::capi {

struct Frame {
  std::vector<RefCounted*> handles;
  Frame* outer;
};

namespace {

struct Ledger {
  struct Entry {
    const char* function;
    int count;
    std::string what;
  };
  std::mutex mutex;
  std::unordered_map<RefCounted*, Entry> live;
};

// Leaked on purpose: handles may be released while statics are torn down.
Ledger& ledger() {
  static Ledger* l = new Ledger;
  return *l;
}

// "tensor f32[2, 3] on cpu", or the type of any other handle.
std::string kind_of(RefCounted* object) {
  if (auto* impl = dynamic_cast<TensorImpl*>(object)) {
    return "tensor " + describe(Tensor(Ref<TensorImpl>::share(impl)));
  }
  const char* mangled = typeid(*object).name();
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr), std::free);
  return name ? name.get() : mangled;
}

bool start_tracking() {
  const char* wish = std::getenv("FLAMBEAU_TRACK_HANDLES");
  return tracking_handles = wish && *wish == '1';
}
[[maybe_unused]] const bool tracked_from_start = start_tracking();

void forget_tracked(RefCounted* object) noexcept {
  if (!tracking_handles) return;
  std::lock_guard lock(ledger().mutex);
  const auto it = ledger().live.find(object);
  if (it != ledger().live.end() && --it->second.count == 0) ledger().live.erase(it);
}

bool remove_from_frames(RefCounted* object) noexcept {
  for (Frame* f = t_frame; f; f = f->outer) {
    const auto it = std::find(f->handles.rbegin(), f->handles.rend(), object);
    if (it == f->handles.rend()) continue;
    f->handles.erase(std::next(it).base());
    return true;
  }
  return false;
}

void close_frame() {
  const std::unique_ptr<Frame> frame(t_frame);
  if (!frame) return;
  t_frame = frame->outer;
  for (auto it = frame->handles.rbegin(); it != frame->handles.rend(); ++it) {
    forget_tracked(*it);
    (*it)->release();
  }
}

// Frames that are open where a thread ends have nobody left to pop them.
struct ThreadEnd {
  bool armed = false;
  ~ThreadEnd() {
    while (t_frame) close_frame();
  }
};

void write_down(RefCounted* object, const char* function) {
  std::string what = kind_of(object);
  std::lock_guard lock(ledger().mutex);
  ++ledger()
        .live.try_emplace(object, Ledger::Entry{function, 0, std::move(what)})
        .first->second.count;
}

}  // namespace

void note_handle(RefCounted* object, const char* function) {
  if (t_frame) t_frame->handles.push_back(object);
  if (!tracking_handles) return;
  try {
    write_down(object, function);
  } catch (...) {
    if (t_frame) t_frame->handles.pop_back();
    throw;
  }
}

void track_handle(RefCounted* object, const char* function) noexcept {
  try {
    write_down(object, function);
  } catch (...) {  // without memory the report misses one
  }
}

void forget_handle(RefCounted* object) noexcept {
  remove_from_frames(object);
  forget_tracked(object);
}

uint64_t frame_push() {
  thread_local ThreadEnd at_end;
  at_end.armed = true;
  auto frame = std::make_unique<Frame>(Frame{{}, t_frame});
  const uint64_t token = push_scope(close_frame);
  t_frame = frame.release();
  return token;
}

bool move_to_outer_frame(RefCounted* object) noexcept {
  std::vector<RefCounted*>& handles = t_frame->handles;
  const auto it = std::find(handles.rbegin(), handles.rend(), object);
  if (it == handles.rend()) return true;
  try {
    if (t_frame->outer) t_frame->outer->handles.push_back(object);
  } catch (...) {
    return false;
  }
  handles.erase(std::next(it).base());
  return true;
}

void frame_pop(uint64_t scope) { pop_scope(scope); }

void leak_tracking(bool enabled) {
  std::lock_guard lock(ledger().mutex);
  if (enabled && !tracking_handles) ledger().live.clear();
  tracking_handles = enabled;
}

const char* leak_report() {
  thread_local std::string text;
  std::map<std::string, int> lines;
  {
    std::lock_guard lock(ledger().mutex);
    for (const auto& [object, e] : ledger().live) lines[e.what + " from " + e.function] += e.count;
  }
  std::vector<std::pair<std::string, int>> sorted(lines.begin(), lines.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto& a, auto& b) { return a.second > b.second; });
  text.clear();
  for (const auto& [what, count] : sorted) text += cat_text(count, " x ", what, "\n");
  return text.c_str();
}

}  // namespace flambeau::capi
