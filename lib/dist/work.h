// A collective that was begun: done when its bytes are where they belong, or failed with the error
// that wait() throws, as often as it is asked.
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

#include "base/ref.h"
#include "device/event.h"
#include "dist/own_process.h"
#include "dist/store.h"

namespace flambeau::dist {

class Work : public RefCounted {
 public:
  // Whether it has ended, either way.
  virtual bool done();
  // Until it has; where tensors are on a device, the current stream then waits for them. Throws
  // what it failed with, and Code::collective_timeout where `timeout` is over: the work goes on.
  virtual void wait(std::optional<Millis> timeout = {});
  // Whether it is the current stream that waits, and the program goes on.
  virtual bool stream_ordered() const { return false; }
  int source() const;  // of a receive: who sent; -1 before the end

  // By who does it. `ready`: after what the results are on their device.
  void finish(std::optional<Event> ready = {}, int source = -1);
  void fail(std::exception_ptr error);

 protected:
  void settle();  // ended: throws, or makes streams wait

  const OwnProcess process_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::exception_ptr error_;
  std::optional<Event> ready_;
  int source_ = -1;
};

}  // namespace flambeau::dist
