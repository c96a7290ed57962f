// Events over the HAL; see event.h.
#include "device/event.h"

#include <utility>

#include "base/error.h"
#include "device/call.h"
#include "device/probe.h"
#include "device/streams.h"

namespace flambeau {

using hal::Table;

Event::Event(Device d, bool timing) : device_(resolve(d)), timing_(timing) {
  hal::call<&Table::event_create>(device_, "event create", timing, &native_);
}

Event::~Event() {
  if (native_ == nullptr) return;
  fault::Exempt exempt;
  hal::try_call<&Table::event_destroy>(device_, native_);
}

Event::Event(Event&& other) noexcept
    : device_(other.device_),
      timing_(other.timing_),
      recorded_(other.recorded_),
      native_(std::exchange(other.native_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(timing_, other.timing_);
  std::swap(recorded_, other.recorded_);
  std::swap(native_, other.native_);
  return *this;
}

void Event::record(Stream s) {
  check(s.device == device_, Code::device_mismatch, "an event of ", to_string(device_),
        " cannot be recorded on a stream of ", to_string(s.device));
  hal::call<&Table::event_record>(device_, "event record", native_, native_stream(s));
  recorded_ = true;
}

void Event::wait(Stream s) const {
  if (!recorded_) return;
  if (s.device.type != device_.type) return synchronize();
  hal::call<&Table::stream_wait>(s.device, "stream wait", native_stream(s), native_);
}

bool Event::query() const {
  if (!recorded_) return true;
  const hal::Status status = hal::try_call<&Table::event_query>(device_, native_);
  if (status == hal::Status::not_ready) return false;
  if (status != hal::Status::ok) hal::raise(device_, "event query", status);
  return true;
}

void Event::synchronize() const {
  if (!recorded_) return;
  const probe::Span span(probe::Kind::wait, "synchronize");
  hal::call<&Table::event_synchronize>(device_, "event synchronize", native_);
}

float Event::elapsed_ms(const Event& end) const {
  check(timing_ && end.timing_, Code::invalid_argument,
        "elapsed time needs two events made with timing");
  check(recorded_ && end.recorded_, Code::invalid_argument,
        "elapsed time needs two recorded events");
  check(
      query() && end.query(), Code::invalid_argument,
      "elapsed time of events that are not done yet: ", "call synchronize on the end event first");
  float ms = 0;
  hal::call<&Table::event_elapsed>(device_, "event elapsed", native_, end.native_, &ms);
  return ms;
}

}  // namespace flambeau
