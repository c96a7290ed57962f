// See host_call.h. Scopes are undone before the values they might have missed are put back, because
// an undo may itself look at the modes.
#include "capi/host_call.h"

#include <utility>
#include <vector>

#include "base/of_thread.h"
#include "base/thread_local.h"
#include "capi/handle_table.h"

namespace flambeau::capi {

namespace {
FLAM_THREAD_LOCAL OfThread<std::vector<const RefCounted*>> t_lent;  // while handles are checked
}

void lend_for_call(const RefCounted* object) noexcept {
  if (!object) return;
  try {
    t_lent.get().push_back(object);
  } catch (...) {  // without memory it stays lent: no fault is seen later where there is one
  }
  lend(object);
}

HostCall::HostCall() noexcept
    : error_(std::exchange(t_error, nullptr)),
      own_{{}, nullptr, true},
      frame_(std::exchange(t_frame, &own_)),
      floor_(raise_scope_floor()),
      lent_(t_lent.found() ? t_lent.found()->size() : 0),
      modes_(modes),
      label_(t_label),
      current_(current_choice()) {}

HostCall::~HostCall() {
  auto* lent = t_lent.found();
  for (; lent && lent->size() > lent_; lent->pop_back()) take_back(lent->back());
  close_scopes_to_floor();
  own_.release_all("the end of the callback that made it");
  lower_scope_floor(floor_);
  restore_choice(current_);
  t_label = label_;
  modes = modes_;
  t_frame = frame_;
  if (t_error) t_error->release();
  t_error = error_;
}

void call_drop(void (*drop)(void*), void* user) noexcept {
  if (!drop) return;
  HostCall call;
  drop(user);
  call.let_go();
}

}  // namespace flambeau::capi
