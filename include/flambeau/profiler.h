/* The profiler: what took how long, and which memory it took. It hears of every op, gradient and
 * named range on all threads between start and stop; while it is off, an op pays for one test.
 * namespace: capi
 *
 * Names, columns and the trace's keys are PyTorch's. An op is named as in these headers ("linear"),
 * a gradient as PyTorch does ("ReluBackward0").
 */
#ifndef FLAMBEAU_PROFILER_H
#define FLAMBEAU_PROFILER_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a profiler records. */
typedef struct flam_profiler_options {
  size_t struct_size; /**< sizeof(flam_profiler_options) */
  flam_bool record_shapes FLAM_DEFAULT(0); /**< dtypes and shapes of operands; default false */
  flam_bool profile_memory FLAM_DEFAULT(0); /**< what is allocated and freed; default false */
  flam_bool with_modules FLAM_DEFAULT(0); /**< calls of modules as ranges; default false */
  /** what devices run, by CUPTI; events around every op where that cannot tell; default true */
  flam_bool device_time FLAM_DEFAULT(1);
} flam_profiler_options;

/** Starts to record, on all threads.
 *
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where a profiler is running already.
 */
FLAM_API flam_status flam_profiler_start(const flam_profiler_options *options);

/** Whether a profiler is running.
 *
 * - returns: whether it is.
 */
FLAM_API flam_bool flam_profiler_is_running(void);

/** Stops recording, and waits until the devices have done what was recorded. What is open still
 * ends now. Warns once where kernels of a GPU are not told, with what was looked for.
 *
 * - returns: what was recorded.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where no profiler is running.
 */
FLAM_API FLAM_BLOCKS flam_profile *flam_profiler_stop(void);

/** Opens a named range on this thread: ops until its end are inside it.
 *
 * - `name`: any text; kept.
 * - returns: the range, for `flam_range_end`; 0 where no profiler is running.
 */
FLAM_API uint64_t flam_range_begin(const char *name);

/** Ends a named range, and those opened inside it that are open still. A range of another thread or
 * of an earlier profiler, and 0, are ignored.
 *
 * - `range`: what `flam_range_begin` returned.
 */
FLAM_API void flam_range_end(uint64_t range);

/** Gives back a count.
 *
 * - `profile`: the profile, or `NULL`.
 */
FLAM_API void flam_profile_release(FLAM_NULLABLE flam_profile *profile);

/** Options of `flam_profile_table`. */
typedef struct flam_profile_table_options {
  size_t struct_size; /**< sizeof(flam_profile_table_options) */
  /** a column by its name in PyTorch, such as "self_cpu_time_total", "cuda_time_total", */
  const char *sort_by FLAM_DEFAULT(NULL);
  int64_t row_limit FLAM_DEFAULT(100); /**< how many rows; negative: all; default 100 */
  /** whether operands of other shapes are another row; default false */
  flam_bool by_shape FLAM_DEFAULT(0);
  /** whether another module's op is another row; default false */
  flam_bool by_module FLAM_DEFAULT(0);
} flam_profile_table_options;

/** The averages as a table, a row per name: times of the host, and of devices and memory where
 * there are any, for an op alone ("Self") and with what ran inside it.
 *
 * - `profile`: the profile.
 *  "cpu_memory_usage", "count", or "name", "shapes", "module"; default: the op's own host time.
 * - `out_text`: the table; valid until this thread's next call of this function.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a column that does not exist.
 */
FLAM_API flam_status flam_profile_table(
    const flam_profile *profile, const char **out_text, const flam_profile_table_options *options);

/** Options of `flam_profile_averages`. */
typedef struct flam_profile_averages_options {
  size_t struct_size; /**< sizeof(flam_profile_averages_options) */
  /** whether operands of other shapes are another entry; default false */
  flam_bool by_shape FLAM_DEFAULT(0);
  /** whether another module's op is another entry; default false */
  flam_bool by_module FLAM_DEFAULT(0);
} flam_profile_averages_options;

/** The averages as data.
 *
 * - `profile`: the profile.
 * - returns: a JSON list of objects with `name`, `kind` ("op", "backward", "range", "wait",
 *   "communication" of a group of processes, and of
 *   what devices ran "kernel", "copy", "fill", which is in the times of ops, too), `count`,
 *   `shapes`, `module`, times in microseconds (`host_us`, `device_us`) and bytes (`host_bytes`,
 *   `device_bytes`), each `self` and `total`; largest own host time first. Valid until this
 *   thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_profile_averages(
    const flam_profile *profile, const flam_profile_averages_options *options);

/** Every event as data: per thread in the order in which they began, an event before what ran
 * inside it.
 *
 * - `profile`: the profile.
 * - returns: a JSON list of objects as those of `flam_profile_averages`, and with `begin_us` since
 *  the start, `thread`, `device`, `dtypes`, the index of the event around it (`parent`, or -1) and
 *  the number that a forward op and its gradient share (`sequence`). At the end what devices ran:
 *  `begin_us` is the device's, `parent` what launched it, `thread` the stream. Valid until this
 *  thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_profile_events(const flam_profile *profile);

/** Why the devices wait: how much of the recorded time each was idle, and how much of that because
 * batches came late, because the program waited for the device, or because the host launches slower
 * than the device runs, with the switches that help. Where kernels are not told, an op counts as
 * running from its first launch to its last. Ranges named "ProfilerStep#" with a number are steps.
 *
 * - `profile`: the profile, with device times.
 * - returns: the text, a line for each device and each reason. Valid until this thread's next call
 *   of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_profile_step_report(const flam_profile *profile);

/** Writes the events as a trace for Chrome (chrome://tracing) or Perfetto (ui.perfetto.dev).
 *
 * - `profile`: the profile.
 * - `path`: the file; an existing one is replaced only by a whole new one.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_IO` with the system's reason.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_profile_export_trace(const flam_profile *profile, const char *path);

#ifdef __cplusplus
}
#endif
#endif
