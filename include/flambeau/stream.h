/* Streams and events: in which order a device works, and how streams wait for each other.
 * namespace: capi
 *
 * Work on one stream runs in order; streams run beside each other. On the cpu there is one stream,
 * and its work is done when a call returns.
 */
#ifndef FLAMBEAU_STREAM_H
#define FLAMBEAU_STREAM_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- streams --------------------------------------------------------------------------------- */

/** Options of `flam_stream_new`. */
typedef struct flam_stream_options {
  size_t struct_size; /**< sizeof(flam_stream_options) */
  /** the device; default: the current accelerator, CUDA before simulated */
  flam_device device FLAM_DEFAULT(0);
  int32_t priority FLAM_DEFAULT(0); /**< below 0 for an urgent stream; default 0 */
} flam_stream_options;

/** A stream of a device's pool; after 32 of a priority the pool starts again.
 *
 * - returns: the stream.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_stream *flam_stream_new(const flam_stream_options *options);

/** This thread's current stream of a device.
 *
 * - `device`: the device; default: the current accelerator, CUDA before simulated.
 * - returns: the stream.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_stream *flam_stream_current(flam_device device FLAM_DEFAULT(0));

/** The stream that is current at start.
 *
 * - `device`: the device; default: the current accelerator, CUDA before simulated.
 * - returns: the stream.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_stream *flam_stream_default(flam_device device FLAM_DEFAULT(0));

/** Another library's stream.
 *
 * - `device`: its device.
 * - `native`: its handle, a `cudaStream_t` on CUDA; it must outlive all use here.
 * - returns: the stream; the same `native` gives the same stream.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_UNSUPPORTED` after 256 different ones.
 */
FLAM_API flam_stream *flam_stream_from_native(flam_device device, FLAM_NULLABLE void *native);

/** Gives back a count; work on the stream goes on.
 *
 * - `stream`: the stream, or `NULL`.
 */
FLAM_API void flam_stream_release(FLAM_NULLABLE flam_stream *stream);

/** The device of a stream.
 *
 * - `stream`: the stream.
 * - returns: the device, with its number.
 */
FLAM_API flam_device flam_stream_device(const flam_stream *stream);

/** The number of a stream on its device; two handles of one stream have the same.
 *
 * - `stream`: the stream.
 * - returns: the number; 0 for the default stream.
 */
FLAM_API int64_t flam_stream_id(const flam_stream *stream);

/** The priority of a stream.
 *
 * - `stream`: the stream.
 * - returns: -1 for an urgent stream, otherwise 0.
 */
FLAM_API int32_t flam_stream_priority(const flam_stream *stream);

/** The handle by which other libraries know a stream.
 *
 * - `stream`: the stream.
 * - returns: a `cudaStream_t` on CUDA; `NULL` for a default stream.
 */
FLAM_BORROWED(stream)
FLAM_API void *flam_stream_native(const flam_stream *stream);

/** Makes a stream this thread's current one of its device; the current device stays.
 *
 * - `stream`: the stream.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status flam_stream_set_current(const flam_stream *stream);

/** Opens a scope in which a stream is current, and its device too.
 *
 * - `stream`: the stream.
 * - `out_scope`: the token for `flam_scope_pop`.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status flam_stream_push(const flam_stream *stream, flam_scope *out_scope);

/** Whether all work on a stream is done.
 *
 * - `stream`: the stream.
 * - `out_done`: whether it is.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_LOST` where a kernel failed.
 */
FLAM_API flam_status flam_stream_query(const flam_stream *stream, flam_bool *out_done);

/** Waits until all work on a stream is done. Faults of earlier work surface here.
 *
 * - `stream`: the stream.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_LOST` where a kernel failed.
 */
FLAM_API FLAM_BLOCKS flam_status flam_stream_synchronize(const flam_stream *stream);

/** Lets what a stream gets from now on wait for the work that another one has now. The caller does
 * not wait, unless `stream` is the cpu's.
 *
 * - `stream`: the stream that waits.
 * - `other`: the stream that it waits for.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_LOST`.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_stream_wait_stream(const flam_stream *stream, const flam_stream *other);

/** Whether a stream's work is being captured for a graph instead of run.
 *
 * - `stream`: the stream.
 * - `out_capturing`: whether it is.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_LOST`.
 */
FLAM_API flam_status flam_stream_is_capturing(const flam_stream *stream, flam_bool *out_capturing);

/* ---- events ---------------------------------------------------------------------------------- */

/** Options of `flam_event_new`. */
typedef struct flam_event_options {
  size_t struct_size; /**< sizeof(flam_event_options) */
  /** the device of the streams that it is recorded on; default: the current accelerator, CUDA
   *  before simulated */
  flam_device device FLAM_DEFAULT(0);
  /** whether it keeps the time, for `flam_event_elapsed`; default false */
  flam_bool timing FLAM_DEFAULT(0);
} flam_event_options;

/** An event: a point in a stream's work.
 *
 * - returns: the event, not recorded yet.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_event *flam_event_new(const flam_event_options *options);

/** Gives back a count; the last one frees the event.
 *
 * - `event`: the event, or `NULL`.
 */
FLAM_API void flam_event_release(FLAM_NULLABLE flam_event *event);

/** The device of an event.
 *
 * - `event`: the event.
 * - returns: the device, with its number.
 */
FLAM_API flam_device flam_event_device(const flam_event *event);

/** Lets an event stand for all work that a stream has now.
 *
 * - `event`: the event; what it stood for is forgotten.
 * - `stream`: a stream of its device; default: the current one.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_MISMATCH` for a stream of another device.
 */
FLAM_API flam_status
flam_event_record(flam_event *event, FLAM_NULLABLE const flam_stream *stream FLAM_DEFAULT(NULL));

/** Lets what a stream gets from now on wait for an event, as it is recorded now. An event that was
 * never recorded is not waited for. The caller does not wait, unless `stream` is the cpu's.
 *
 * - `event`: the event.
 * - `stream`: a stream of any device; default: the current one of the event's device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_LOST`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_event_wait(
    const flam_event *event, FLAM_NULLABLE const flam_stream *stream FLAM_DEFAULT(NULL));

/** Whether the work that an event stands for is done.
 *
 * - `event`: the event.
 * - `out_done`: whether it is; true for an event that was never recorded.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_LOST`.
 */
FLAM_API flam_status flam_event_query(const flam_event *event, flam_bool *out_done);

/** Waits until the work that an event stands for is done.
 *
 * - `event`: the event.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_LOST`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_event_synchronize(const flam_event *event);

/** The time between two events.
 *
 * - `start`: the earlier event, made with timing, recorded and done.
 * - `end`: the later one, likewise.
 * - `out_milliseconds`: the time, in milliseconds; on a simulated device of its virtual clock.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where one has no timing, was not recorded or is not done.
 */
FLAM_API flam_status
flam_event_elapsed(const flam_event *start, const flam_event *end, double *out_milliseconds);

#ifdef __cplusplus
}
#endif
#endif
