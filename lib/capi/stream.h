// C++ side of include/flambeau/stream.h: the targets of its C functions.
#pragma once
#include "capi/objects.h"

namespace flambeau::capi {

// The device itself, or where none is given the current accelerator, CUDA before simulated.
Device accelerator_or(Device d);

Ref<flam_stream> stream_new(Device device, int32_t priority);
Ref<flam_stream> stream_current(Device device);
Ref<flam_stream> stream_default(Device device);
Ref<flam_stream> stream_from_native(Device device, void* native);
void stream_retain(flam_stream* stream);
void stream_release(flam_stream* stream);
Device stream_device(const flam_stream* stream);
int64_t stream_id(const flam_stream* stream);
int32_t stream_priority(const flam_stream* stream);
void* stream_native(const flam_stream* stream);
void stream_set_current(const flam_stream* stream);
uint64_t stream_push(const flam_stream* stream);
bool stream_is_capturing(const flam_stream* stream);
bool stream_query(const flam_stream* stream);
void stream_synchronize(const flam_stream* stream);
void stream_wait_stream(const flam_stream* stream, const flam_stream* other);

Ref<flam_event> event_new(Device device, bool timing);
void event_retain(flam_event* event);
void event_release(flam_event* event);
Device event_device(const flam_event* event);
void event_record(flam_event* event, const flam_stream* stream);
void event_wait(const flam_event* event, const flam_stream* stream);
bool event_query(const flam_event* event);
void event_synchronize(const flam_event* event);
double event_elapsed(const flam_event* start, const flam_event* end);

}  // namespace flambeau::capi
