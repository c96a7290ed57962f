// Thread-local modes that ops consult: whether to record the graph, inference mode, autocast. Data
// only; scopes push and pop whole values, so that a worker can take over its caller's.
#pragma once
#include <cstdint>

#include "base/device.h"
#include "base/dtype.h"
#include "base/thread_local.h"

namespace flambeau {

class SavedHooks;  // graph/saved_hooks.h

// Autocast of one kind of device: whether it is on, and the dtype of its fast operations.
struct Autocast {
  bool enabled = false;
  Dtype dtype = Dtype::none;
};

struct Modes {
  bool grad = true;
  bool inference = false;
  // Whether an op looks at the two below: one is enabled, and no op that was cast is running.
  bool autocast = false;
  bool autocast_cache = true;
  Autocast autocast_cpu{false, Dtype::bf16};
  Autocast autocast_device{false, Dtype::f16};  // cuda and sim
  uint32_t autocast_depth = 0;                  // scopes that are open
  SavedHooks* saved_hooks = nullptr;            // what values go through that are saved; not owned
  const char* saved_hooks_refused = nullptr;    // why none may be set, where none may
};

inline FLAM_THREAD_LOCAL Modes modes;

inline Autocast& autocast_of(bool cpu) { return cpu ? modes.autocast_cpu : modes.autocast_device; }

// Sets the modes for a block of C++ code.
class ModeScope {
 public:
  explicit ModeScope(const Modes& m) : before_(modes) { modes = m; }
  ModeScope(const ModeScope&) = delete;
  ~ModeScope() { modes = before_; }

 private:
  Modes before_;
};

class GradMode : public ModeScope {
 public:
  explicit GradMode(bool enabled) : ModeScope(with(enabled)) {}

 private:
  static Modes with(bool enabled) {
    Modes m = modes;
    m.grad = enabled;
    return m;
  }
};

}  // namespace flambeau
