// Targets of stream.h; see there.
#include "capi/stream.h"

#include "capi/gen/targets.h"
#include "capi/scope_stack.h"
#include "device/graph.h"
#include "device/streams.h"

namespace flambeau::capi {
namespace {

Stream stream_or_current(const flam_stream* stream, Device d) {
  return stream ? stream->stream : flambeau::current_stream(d);
}

}  // namespace

Device accelerator_or(Device d) {
  if (d) return resolve(d);
  const bool simulated = !is_available(DeviceType::cuda) && is_available(DeviceType::sim);
  return resolve({simulated ? DeviceType::sim : DeviceType::cuda, -1});
}

Ref<flam_stream> stream_new(Device device, int32_t priority) {
  return make_ref<flam_stream>(create_stream(accelerator_or(device), priority));
}

Ref<flam_stream> stream_current(Device device) {
  return make_ref<flam_stream>(flambeau::current_stream(accelerator_or(device)));
}

Ref<flam_stream> stream_default(Device device) {
  return make_ref<flam_stream>(flambeau::default_stream(accelerator_or(device)));
}

Ref<flam_stream> stream_from_native(Device device, void* native) {
  return make_ref<flam_stream>(external_stream(accelerator_or(device), native));
}

void stream_release(flam_stream* stream) {
  if (stream) stream->release();
}

Device stream_device(const flam_stream* stream) { return stream->stream.device; }
int64_t stream_id(const flam_stream* stream) { return stream->stream.id; }
int32_t stream_priority(const flam_stream* stream) {
  return flambeau::stream_priority(stream->stream);
}
void* stream_native(const flam_stream* stream) { return native_stream(stream->stream); }
void stream_set_current(const flam_stream* stream) { set_current_stream(stream->stream); }

uint64_t stream_push(const flam_stream* stream) {
  const Device device = stream->stream.device, device_before = current_device(device.type);
  const Stream before = flambeau::current_stream(device);
  const uint64_t token = push_scope([=] {
    set_current_stream(before);
    set_current_device(device_before);
  });
  set_current_device(device);
  set_current_stream(stream->stream);
  return token;
}

bool stream_is_capturing(const flam_stream* stream) { return is_capturing(stream->stream); }
bool stream_query(const flam_stream* stream) { return query(stream->stream); }
void stream_synchronize(const flam_stream* stream) { synchronize(stream->stream); }

void stream_wait_stream(const flam_stream* stream, const flam_stream* other) {
  wait_stream(stream->stream, other->stream);
}

Ref<flam_event> event_new(Device device, bool timing) {
  return make_ref<flam_event>(Event(accelerator_or(device), timing));
}

void event_release(flam_event* event) {
  if (event) event->release();
}

Device event_device(const flam_event* event) { return event->event.device(); }

void event_record(flam_event* event, const flam_stream* stream) {
  event->event.record(stream_or_current(stream, event->event.device()));
}

void event_wait(const flam_event* event, const flam_stream* stream) {
  event->event.wait(stream_or_current(stream, event->event.device()));
}

bool event_query(const flam_event* event) { return event->event.query(); }
void event_synchronize(const flam_event* event) { event->event.synchronize(); }

double event_elapsed(const flam_event* start, const flam_event* end) {
  return start->event.elapsed_ms(end->event);
}

}  // namespace flambeau::capi
