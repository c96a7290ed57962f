// See failure.h. The exception itself says whether it was noted: one that was swallowed on its way
// must not lend its module to a later one.
#include "nn/failure.h"

#include <exception>
#include <utility>

#include "base/error.h"
#include "base/of_thread.h"
#include "base/thread_local.h"
#include "base/thread_state.h"
#include "device/label.h"
#include "nn/module.h"
#include "nn/owners.h"

namespace flambeau::nn {

namespace {

struct Left {
  std::exception_ptr exception;
  std::string module;
};
FLAM_THREAD_LOCAL OfThread<Left> t_left;
const Carried<Left> carried_failure([]() -> Left& { return t_left.get(); });

}  // namespace

void note_failure(const ::flam_module& m) noexcept {
  const std::exception_ptr now = std::current_exception();
  if (t_left.found() && t_left.found()->exception == now) return;
  try {
    const std::string path = path_of(m);
    t_left.get() = {now, path.empty() ? m.type : cat_text('"', path, "\" (", m.type, ")")};
  } catch (...) {  // without memory the error stays without its module
  }
}

std::string failed_module() {
  const Left left = t_left.found() ? std::exchange(*t_left.found(), {}) : Left{};
  const bool noted = left.exception && left.exception == std::current_exception();
  if (noted) return left.module;
  return t_label.module ? describe_label(t_label.module) : std::string();
}

}  // namespace flambeau::nn
