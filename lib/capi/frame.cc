// Handles that are written down: those of open frames, to be released when the frame pops, and all of them
// while leaks are tracked. Off, both cost one test per call.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
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

std::string kind_of(RefCounted* object) {
  if (auto* impl = dynamic_cast<TensorImpl*>(object)) {
    return "tensor " + describe(Tensor(Ref<TensorImpl>::share(impl)));
  }
  return "object";
}

bool start_tracking() {
  const char* wish = std::getenv("FLAMBEAU_TRACK_HANDLES");
  return tracking_handles = wish && *wish == '1';
}
[[maybe_unused]] const bool tracked_from_start = start_tracking();

bool remove_from_frames(RefCounted* object) noexcept {
  for (Frame* f = t_frame; f; f = f->outer) {
    const auto it = std::find(f->handles.rbegin(), f->handles.rend(), object);
    if (it == f->handles.rend()) continue;
    *it = f->handles.back();
    f->handles.pop_back();
    return true;
  }
  return false;
}

void close_frame() {
  Frame* f = t_frame;
  std::vector<RefCounted*> handles = std::move(f->handles);
  t_frame = f->outer;
  delete f;
  for (auto it = handles.rbegin(); it != handles.rend(); ++it) {
    if (tracking_handles) forget_handle(*it);
    (*it)->release();
  }
}

}  // namespace

void note_handle(RefCounted* object, const char* function) {
  if (t_frame) t_frame->handles.push_back(object);
  if (!tracking_handles) return;
  std::string what = kind_of(object);
  std::lock_guard lock(ledger().mutex);
  auto& entry = ledger().live.try_emplace(object, Ledger::Entry{function, 0, std::move(what)}).first->second;
  ++entry.count;
}

void forget_handle(RefCounted* object) noexcept {
  remove_from_frames(object);
  if (!tracking_handles) return;
  std::lock_guard lock(ledger().mutex);
  const auto it = ledger().live.find(object);
  if (it != ledger().live.end() && --it->second.count == 0) ledger().live.erase(it);
}

uint64_t frame_push() {
  t_frame = new Frame{{}, t_frame};
  return push_scope(close_frame);
}

flam_tensor* frame_keep(const Tensor& tensor) {
  Frame* f = t_frame;
  const auto it = f ? std::find(f->handles.rbegin(), f->handles.rend(), tensor.impl()) : std::vector<RefCounted*>::reverse_iterator{};
  if (f && it != f->handles.rend()) {
    *it = f->handles.back();
    f->handles.pop_back();
    if (f->outer) f->outer->handles.push_back(tensor.impl());
  }
  return reinterpret_cast<flam_tensor*>(tensor.impl());
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
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second > b.second; });
  text.clear();
  for (const auto& [what, count] : sorted) text += cat_text(count, " x ", what, "\n");
  return text.c_str();
}

}  // namespace flambeau::capi
