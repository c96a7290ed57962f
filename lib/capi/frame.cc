// Frames: the handles that a thread made since a push, released when it pops. A frame counts
// handles, not objects: an object returned twice stands in it twice, and each release strikes out
// one.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "capi/frame.h"
#include "capi/gen/targets.h"
#include "capi/guard.h"
#include "capi/handle_table.h"
#include "capi/scope_stack.h"

namespace flambeau::capi {

void Frame::release_all(const char* by) noexcept {
  while (!handles.empty()) {
    RefCounted* const object = handles.back();
    handles.pop_back();  // first: its end may run code of the program, which releases handles
    strike_out(object, by);
    object->release();
  }
}

namespace {

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
  frame->release_all("flam_frame_pop");
}

FLAM_THREAD_LOCAL bool t_armed = false;  // outlives what it arms, which is touched once

// Frames that are open where a thread ends have nobody left to pop them. That of a callback, which
// ended the process, is on the stack.
struct ThreadEnd {
  bool armed = false;
  ~ThreadEnd() {
    while (t_frame && !t_frame->of_callback) close_frame();
  }
};

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
  strike_out(object);
}

uint64_t frame_push() {
  auto frame = std::make_unique<Frame>(Frame{{}, t_frame});
  const uint64_t token = push_scope(close_frame);
  if (!std::exchange(t_armed, true)) {
    thread_local ThreadEnd at_end;
    at_end.armed = true;
  }
  t_frame = frame.release();
  return token;
}

void frame_leave() {
  if (!t_frame || !t_frame->of_callback) return;
  t_frame->handles.clear();
  t_frame = nullptr;
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

}  // namespace flambeau::capi
