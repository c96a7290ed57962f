/* Errors and the library's version: the thread's error record and how to read, take and clear it.
 * namespace: capi
 *
 * A failed call keeps the *first* error of its thread until it is cleared or taken; nothing here
 * prints. What any function may fail with is not repeated at each: `FLAM_ERROR_INVALID_ARGUMENT`
 * for a missing handle or callback, a list without its count, an enumerator, device, struct size or
 * reserved field that is not known, out of memory, a result whose size 64 bits do not hold
 * (`FLAM_ERROR_SHAPE`), a lost device, a failed callback, what autograd refuses (a derivative that
 * is not implemented, a recorded destination, gradients of whole numbers) and complex numbers in an
 * operation of reals (`FLAM_ERROR_UNSUPPORTED`). `flam_x_` and `flam_x_out` add `FLAM_ERROR_DTYPE`
 * and `FLAM_ERROR_SHAPE` where the destination does not take the result.
 */
#ifndef FLAMBEAU_ERROR_H
#define FLAMBEAU_ERROR_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the loaded library, `major << 16 | minor << 8 | patch`.
 *
 * - returns: the version number; never fails.
 */
FLAM_API uint32_t flam_version(void);

/** Checks that the loaded library has what a program built against version `major.minor` needs.
 *
 * - `major`: the header's `FLAM_VERSION_MAJOR`.
 * - `minor`: the header's `FLAM_VERSION_MINOR`.
 * - returns: `FLAM_OK` where the library is of that major version and not older.
 * - errors: `FLAM_ERROR_ABI_VERSION` with both versions.
 */
FLAM_API flam_status flam_version_require(int32_t major, int32_t minor);

/** The pending error's code.
 *
 * - returns: the code; `FLAM_OK` where no error is pending on this thread.
 */
FLAM_API FLAM_VALUE flam_status flam_error_code(void);

/** The pending error's whole text: the problem in one line, then facts, cause and fix.
 *
 * - returns: UTF-8, in the words of C, valid until the thread's error changes; the empty string
 *   where none is pending.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_error_message(void);

/** Whose words an error's text is in: the calls that mend it, and what true and nothing are called.
 */
typedef int32_t flam_language;
enum { FLAM_LANGUAGE_C = 0, FLAM_LANGUAGE_PYTHON = 1, FLAM_LANGUAGE_RUST = 2 };

/** The pending error's text in a language's words; what a callback said stays as it is.
 *
 * - `language`: the language; an unknown number reads as Python, the words of PyTorch.
 * - returns: UTF-8, valid until the thread's error changes; the empty string where none is pending.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_error_message_in(flam_language language);

/** Forgets the pending error of this thread. */
FLAM_API void flam_error_clear(void);

/** Takes the pending error off this thread, for another thread or a later moment.
 *
 * - returns: the error, or `NULL` where none is pending.
 * - errors: none.
 */
FLAM_API FLAM_NULLABLE flam_error *flam_error_take(void);

/** Puts a taken error back as this thread's pending error, unless one is pending already.
 *
 * - `error`: the error; taken over.
 */
FLAM_API void flam_error_restore(FLAM_CONSUMES flam_error *error);

/** Records a failure from inside a callback, which then returns `FLAM_ERROR_CALLBACK`.
 *
 * - `message`: what went wrong, UTF-8; `NULL` says nothing.
 * - `payload`: the host language's own exception object, or `NULL`; given back by
 *   `flam_error_payload`.
 * - `drop`: called exactly once with `payload` when the record is cleared or released; may be
 *   `NULL`.
 */
FLAM_API void flam_error_set(
    FLAM_NULLABLE const char *message, FLAM_NULLABLE void *payload,
    FLAM_NULLABLE void (*drop)(void *payload));

/** The payload given to `flam_error_set` for the pending error.
 *
 * - returns: the payload, or `NULL` where there is none.
 */
FLAM_BORROWED(thread)
FLAM_API void *flam_error_payload(void);

/** The code of a taken error.
 *
 * - `error`: an error from `flam_error_take`.
 * - returns: its code, a `flam_status`.
 */
FLAM_API FLAM_VALUE flam_status flam_error_code_of(const flam_error *error);

/** The text of a taken error.
 *
 * - `error`: an error from `flam_error_take`.
 * - `language`: in whose words, as `flam_error_message_in`; default `FLAM_LANGUAGE_C`.
 * - returns: UTF-8, valid as long as `error`.
 */
FLAM_BORROWED(error)
FLAM_API const char *flam_error_message_of(
    const flam_error *error, flam_language language FLAM_DEFAULT(FLAM_LANGUAGE_C));

/** Releases a taken error.
 *
 * - `error`: the error, or `NULL`.
 */
FLAM_API void flam_error_release(FLAM_NULLABLE flam_error *error);

/** Opens a frame: every handle returned to this thread from here on is released by the matching
 * pop, but those kept. C code then needs no release per temporary.
 *
 * A handle may still be released inside the frame. `flam_tensor_retain` and its like add a count
 * that no frame knows of: it is the caller's to release. `flam_tensor_keep` and its like move a
 * handle to the frame around. What other threads are to release is retained, or made outside of
 * frames. A thread that ends closes its frames.
 *
 * A callback (a data set, module, function, hook or closure) runs in a frame and under scopes of
 * its own, on the caller's thread as on a worker. What it leaves open is closed when it returns,
 * and the handles that it made are released then, but those that it returned or kept: `cache =
 * flam_tensor_keep(flam_relu(x))`. Of a callback that returns a pointer of its own (`out_item`,
 * `out_packed`) and of a `drop` function none are released, because the pointer may lead to them.
 *
 * - returns: the frame's token.
 */
FLAM_API flam_scope flam_frame_push(void);

/** Leaves the frame of the callback that runs: the handles that it made and makes are the program's
 * to release. For other languages, whose objects release their handles themselves; their callbacks
 * begin with it. Elsewhere, and inside a frame that the callback opened, it does nothing.
 */
FLAM_API void flam_frame_leave(void);

/** Closes a frame and releases what it holds.
 *
 * - `scope`: the token of the innermost open frame.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SCOPE` where `scope` is not this thread's innermost frame.
 */
FLAM_API flam_status flam_frame_pop(flam_scope scope);

/** Starts or stops recording where handles are made, for `flam_leak_report`.
 *
 * - `enabled`: whether to record; off at start unless `FLAMBEAU_TRACK_HANDLES=1`.
 */
FLAM_API void flam_set_leak_tracking_enabled(flam_bool enabled);

/** Whether `flam_leak_report` has what to report.
 *
 * - returns: what `flam_set_leak_tracking_enabled` set last.
 */
FLAM_API flam_bool flam_leak_tracking_enabled(void);

/** Names the handles made since tracking began that are still alive: kind, shape and the call that
 * made them.
 *
 * - returns: one line per call, most handles first; the empty string where nothing is alive.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_leak_report(void);

#ifdef __cplusplus
}
#endif
#endif
