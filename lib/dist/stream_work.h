// A call that was enqueued on a stream of a device: ended when the stream has come past it. Who
// waits for it lets the current stream wait and goes on; a failure shows at the next wait of any
// kind, also for the device, since what the stream left behind then is nobody's result.
#pragma once
#include "dist/call.h"
#include "dist/work.h"

namespace flambeau::dist {

class StreamWork final : public Work {
 public:
  using Clock = std::chrono::steady_clock;

  StreamWork(What what, uint64_t sequence, Device device, Millis timeout, const char* place);

  bool done() override;
  bool stream_ordered() const override { return !host_waits; }
  // With a timeout, and where `host_waits`, until it has ended.
  void wait(std::optional<Millis> timeout) override;
  void enqueued(Event end);

  const What what;
  const uint64_t sequence;
  const Device device;
  const char* const place;
  const Millis timeout;
  Clock::time_point began;  // set before others see it
  bool host_waits = false;  // of a barrier

 private:
  void rethrow();
};

// A call on the device has failed for this group: the next wait for the device says so, once,
// unless the group is forgotten before.
void note_failure(const void* group, Device device, std::exception_ptr error);
void forget_failures(const void* group);

}  // namespace flambeau::dist
