/* Progress of a long piece of work: done, rate, values such as the loss, device memory, time left.
 * Shown on a terminal, as plain lines, as JSON, or by a function of the program's.
 * namespace: capi
 *
 * Nothing is written that was not asked for: a new progress only counts. A value that costs a wait
 * for the device is needed only when `flam_progress_advance` says that a drawing is due.
 *
 * ```c
 * flam_progress *bar = flam_progress_new(images, "images");
 * flam_progress_to_text(bar, STDOUT_FILENO, FLAM_PROGRESS_AUTOMATIC, 0);
 * while (train_a_batch(&loss)) {
 *   if (!flam_progress_advance(bar, batch)) continue;
 *   flam_tensor_item_f64(loss, &value);
 *   flam_progress_set(bar, "loss", value);
 *   flam_progress_draw(bar);
 * }
 * flam_progress_finish(bar);
 * ```
 */
#ifndef FLAMBEAU_PROGRESS_H
#define FLAMBEAU_PROGRESS_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flam_progress flam_progress;

/** How progress is written as text. */
typedef int32_t flam_progress_style;
enum {
  FLAM_PROGRESS_UNSPECIFIED = 0,
  FLAM_PROGRESS_AUTOMATIC = 1, /* a bar on a terminal, plain lines elsewhere */
  FLAM_PROGRESS_BAR = 2, /* one line that is drawn in place */
  FLAM_PROGRESS_PLAIN = 3 /* a line per drawing */
};

/** A program's way to show progress. */
typedef struct flam_progress_callback {
  size_t struct_size; /* sizeof(flam_progress_callback) */
  void *user; /* handed to the functions below */
  /* Shows something: `event` is "progress", "message" or "end", `text` the line of a terminal
   * without colours or the message, `json` the same as an object. Texts live as long as the
   * call. Returns FLAM_OK, or records with flam_error_set and returns FLAM_ERROR_CALLBACK. */
  flam_status (*show)(void *user, const char *event, const char *text, const char *json);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_progress_callback;

/** Options of `flam_progress_new`. */
typedef struct flam_progress_options {
  size_t struct_size; /**< sizeof(flam_progress_options) */
  /** what is to be done, in units; 0 where that is not known; default 0 */
  int64_t total FLAM_DEFAULT(0);
  const char *unit FLAM_DEFAULT(NULL); /**< what is counted, such as "images"; default: no name */
} flam_progress_options;

/** Begins to count and to time.
 *
 * - returns: the progress; nothing shows it yet.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative total.
 */
FLAM_API flam_progress *flam_progress_new(const flam_progress_options *options);

/** Gives back a count.
 *
 * - `progress`: the progress, or `NULL`.
 */
FLAM_API void flam_progress_release(FLAM_NULLABLE flam_progress *progress);

/** Options of `flam_progress_to_text`. */
typedef struct flam_progress_to_text_options {
  size_t struct_size; /**< sizeof(flam_progress_to_text_options) */
  /** how; default: a bar on a terminal, plain lines elsewhere */
  flam_progress_style style FLAM_DEFAULT(FLAM_PROGRESS_AUTOMATIC);
  /** seconds between drawings; default 0: 0.1 for a bar, 10 for lines */
  double interval FLAM_DEFAULT(0);
} flam_progress_to_text_options;

/** Writes lines to a file descriptor.
 *
 * - `progress`: the progress.
 * - `descriptor`: where to, such as 1 for standard output; stays the caller's.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown style.
 */
FLAM_API flam_status flam_progress_to_text(
    flam_progress *progress, int32_t descriptor, const flam_progress_to_text_options *options);

/** Writes a JSON object per line to a file: `event`, `done`, `total`, `elapsed` and `left` in
 * seconds, `rate` per second, `memory` in bytes, `values`, and `text` of messages.
 *
 * - `progress`: the progress.
 * - `path`: the file; an existing one is replaced.
 * - `interval`: seconds between lines; default 0: 1.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_IO` with the system's reason.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_progress_to_jsonl(flam_progress *progress, const char *path, double interval FLAM_DEFAULT(0));

/** Shows progress by a function of the program's.
 *
 * - `progress`: the progress.
 * - `callback`: its functions; copied. `drop` is called also where this call fails.
 * - `interval`: seconds between calls; default 0: 0.1.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a table without `show`.
 */
FLAM_API flam_status flam_progress_to_callback(
    flam_progress *progress, const flam_progress_callback *callback,
    double interval FLAM_DEFAULT(0));

/** Lets drawings tell how much memory tensors use.
 *
 * - `progress`: the progress.
 * - `device`: the device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_status flam_progress_watch(flam_progress *progress, flam_device device);

/** Counts more.
 *
 * - `progress`: the progress.
 * - `n`: how many units; default 1.
 * - returns: whether a drawing is due; then set the values and draw.
 */
FLAM_API flam_bool flam_progress_advance(flam_progress *progress, int64_t n FLAM_DEFAULT(1));

/** Sets a value to be shown from the next drawing on.
 *
 * - `progress`: the progress.
 * - `name`: such as "loss".
 * - `value`: the number.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_status flam_progress_set(flam_progress *progress, const char *name, double value);

/** Draws where a drawing is due, or all is done.
 *
 * - `progress`: the progress.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_IO` where a JSON file cannot be written; what a callback failed with.
 */
FLAM_API FLAM_BLOCKS flam_status flam_progress_draw(flam_progress *progress);

/** Writes a line that stays, above the bar.
 *
 * - `progress`: the progress.
 * - `text`: the line, without its end.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_progress_draw`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_progress_say(flam_progress *progress, const char *text);

/** Stops the time and removes the bar. Only messages are shown from then on.
 *
 * - `progress`: the progress.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_progress_draw`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_progress_finish(flam_progress *progress);

/** How much is done.
 *
 * - `progress`: the progress.
 * - returns: units.
 */
FLAM_API int64_t flam_progress_done(const flam_progress *progress);

/** How long the work has taken.
 *
 * - `progress`: the progress.
 * - returns: seconds since it began, until it was finished.
 */
FLAM_API double flam_progress_elapsed(const flam_progress *progress);

/** Options of `flam_progress_line`. */
typedef struct flam_progress_line_options {
  size_t struct_size; /**< sizeof(flam_progress_line_options) */
  int32_t columns FLAM_DEFAULT(80); /**< how wide it may be; default 80 */
  flam_bool color FLAM_DEFAULT(0); /**< whether with escape codes for colours; default false */
  flam_bool unicode FLAM_DEFAULT(0); /**< whether with characters beyond ASCII; default false */
  int32_t reserved; /**< 0 */
} flam_progress_line_options;

/** The line that a terminal would show now, for programs that draw themselves.
 *
 * - `progress`: the progress.
 * - returns: the line, valid until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_progress_line(
    const flam_progress *progress, const flam_progress_line_options *options);

#ifdef __cplusplus
}
#endif
#endif
