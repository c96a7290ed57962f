// Marks a launch, copy, fill or graph for the profiler while it is handed to a device: what the
// device then runs belongs to the op that is open on this thread.
#pragma once
#include "device/hal.h"
#include "device/probe.h"

namespace flambeau::probe {

class Launch {
 public:
  // `name`: the engine's own for the kernel, which lives as long as the process; null: it has none.
  Launch(Device d, const char* name) noexcept {
    if (on()) [[unlikely]]
      begin(d, name);
  }
  ~Launch() {
    if (marked_) [[unlikely]]
      marked_->trace_launch(0);
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

 private:
  void begin(Device d, const char* name) noexcept;

  const hal::Table* marked_ = nullptr;  // the provider that was told
};

}  // namespace flambeau::probe
