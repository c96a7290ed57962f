// See host_call.h. Scopes are undone before the values they might have missed are put back, because
// an undo may itself look at the modes.
#include "capi/host_call.h"

#include <utility>

namespace flambeau::capi {

HostCall::HostCall() noexcept
    : error_(std::exchange(t_error, nullptr)),
      frame_(std::exchange(t_frame, nullptr)),
      floor_(raise_scope_floor()),
      modes_(modes),
      label_(t_label),
      current_(current_choice()) {}

HostCall::~HostCall() {
  close_scopes_to_floor();
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
  const HostCall call;
  drop(user);
}

}  // namespace flambeau::capi
