// An event: a point in a stream's work that other streams and the host can wait for. Waiting refers
// to the latest record at the time of the call; an event that was never recorded counts as done.
#pragma once
#include "device/runtime.h"

namespace flambeau {

class Event {
 public:
  explicit Event(Device d, bool timing = false);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  Device device() const { return device_; }
  bool recorded() const { return recorded_; }
  void record(Stream s);      // a stream of the event's device
  void wait(Stream s) const;  // the stream's further work waits; any device of the same type
  bool query() const;
  void synchronize() const;                  // waits
  float elapsed_ms(const Event& end) const;  // both with timing, recorded and done
  void* native() const { return native_; }

 private:
  Device device_;
  bool timing_, recorded_ = false;
  void* native_ = nullptr;
};

}  // namespace flambeau
