// The program's code while the engine waits for it. It runs with an error record, a frame and
// scopes of its own: it sees nothing of its caller's, what it leaves open or switched is undone at
// its return, and what it made and neither returned nor kept is released. So it means the same on
// the caller's thread and on a worker.
#pragma once
#include "capi/frame.h"
#include "capi/guard.h"
#include "capi/scope_stack.h"
#include "device/current.h"
#include "device/label.h"
#include "graph/mode.h"

namespace flambeau::capi {

// While handles are checked: the program may use a handle until the callback that it is lent to
// returns.
void lend_for_call(const RefCounted* object) noexcept;

// Turns the error that a callback recorded on this thread into an exception that carries it, with
// what the host put beside it; defined beside the error record.
[[noreturn]] void throw_callback_error(const char* what, flam_status status);

class HostCall {
 public:
  HostCall() noexcept;
  HostCall(const HostCall&) = delete;
  ~HostCall();  // results must have been taken over: frames left open are closed here

  // Throws what the callback failed with: it says so by its status, or by leaving the error of a
  // call that it made, as everybody does who chains calls and forgets to look.
  void check(const char* what, flam_status status) const {
    if (status != FLAM_OK || t_error) [[unlikely]]
      throw_callback_error(what, status);
  }

  // What the callback made stays the program's: it may be behind a pointer that it returned.
  void let_go() noexcept { own_.handles.clear(); }

 private:
  flam_error* error_;
  Frame own_;
  Frame* frame_;
  size_t floor_, lent_;
  Modes modes_;
  Label label_;
  Current current_;
};

}  // namespace flambeau::capi
