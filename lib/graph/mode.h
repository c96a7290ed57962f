// Thread-local modes that ops consult: whether to record the graph, inference mode, autocast. Data
// only; scopes push and pop whole values, so that a worker can take over its caller's.
#pragma once
#include <cstdint>

#include "base/device.h"
#include "base/dtype.h"
#include "base/thread_local.h"

namespace flambeau {

struct Modes {
  bool grad = true;
  bool inference = false;
  bool autocast_cpu = false, autocast_device = false;  // device: cuda and sim
  bool autocast_cache = true;
  Dtype autocast_cpu_dtype = Dtype::bf16, autocast_device_dtype = Dtype::f16;
};

inline FLAM_THREAD_LOCAL Modes modes;

inline bool autocast_enabled(Device d) {
  return d.is_cpu() ? modes.autocast_cpu : modes.autocast_device;
}
inline Dtype autocast_dtype(Device d) {
  return d.is_cpu() ? modes.autocast_cpu_dtype : modes.autocast_device_dtype;
}

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
