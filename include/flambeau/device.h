/* Devices: their names and numbers, which one is current, what they are, and why there is none; the
 * number of threads; where libraries are looked for.
 * namespace: capi
 *
 * A `flam_device` is a plain value: it needs no release and no device to exist.
 */
#ifndef FLAMBEAU_DEVICE_H
#define FLAMBEAU_DEVICE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values ---------------------------------------------------------------------------------- */

/** Reads a device's text.
 *
 * - `text`: "cpu", "cuda", "cuda:1", "sim", "sim:0" or "meta"; without a number it means
 *   the current device of its type.
 * - `out_device`: the device; it need not exist.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` with the accepted forms.
 */
FLAM_API flam_status flam_device_parse(const char *text, flam_device *out_device);

/** Puts a device together.
 *
 * - `type`: its kind.
 * - `index`: its number, or -1 for the current device of that type; default -1.
 * - returns: the device, which need not exist; 0 for an unknown kind or a number above 32767.
 */
FLAM_API flam_device flam_device_make(flam_device_type type, int32_t index FLAM_DEFAULT(-1));

/** The kind of a device.
 *
 * - `device`: a device.
 * - returns: `FLAM_CPU`, `FLAM_CUDA`, `FLAM_SIM` or `FLAM_META`; `FLAM_DEVICE_NONE` for 0.
 */
FLAM_API flam_device_type flam_device_type_of(flam_device device);

/** The number of a device.
 *
 * - `device`: a device.
 * - returns: its number, or -1 where it means the current device of its type.
 */
FLAM_API int32_t flam_device_index_of(flam_device device);

/** A device as text.
 *
 * - `device`: a device.
 * - returns: "cpu", "cuda:0" and so on, valid until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_device_name(flam_device device);

/* ---- what there is --------------------------------------------------------------------------- */

/** How many devices of a kind there are.
 *
 * - `type`: the kind.
 * - returns: their number; 1 for `FLAM_CPU`.
 */
FLAM_API int32_t flam_device_count(flam_device_type type);

/** Whether there is a device of a kind.
 *
 * - `type`: the kind.
 * - returns: whether `flam_device_count` is above 0.
 */
FLAM_API flam_bool flam_device_is_available(flam_device_type type);

/** Why there is no device of a kind.
 *
 * - `type`: the kind.
 * - returns: what was looked for and found, in one line or several, valid until this thread's next
 *   call of this function; the empty string where there is one.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_device_unavailable_reason(flam_device_type type);

/** Why CUDA cannot be used: no such build, no driver, a driver too old (with both versions), or no
 * device.
 *
 * - returns: the reason, valid until this thread's next call of this function; the empty string
 *   where it can.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_cuda_unavailable_reason(void);

/** The model of a device, as its driver names it.
 *
 * - `device`: a device.
 * - returns: the name, valid until this thread's next call of this function; the empty string where
 *   there is no such device.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_device_model(flam_device device);

/** The memory of a device.
 *
 * - `device`: a device.
 * - returns: bytes in all; 0 where there is no such device.
 */
FLAM_API int64_t flam_device_total_memory(flam_device device);

/** How many multiprocessors a device has; for the cpu, logical cores.
 *
 * - `device`: a device.
 * - returns: their number; 0 where there is no such device.
 */
FLAM_API int32_t flam_device_multiprocessors(flam_device device);

/** The compute capability of a GPU.
 *
 * - `device`: a device.
 * - `out_major`: its first number; 0 for the cpu and simulated devices.
 * - `out_minor`: its second number.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_status
flam_device_capability(flam_device device, int32_t *out_major, int32_t *out_minor);

/** One property of a device by its key.
 *
 * - `device`: a device.
 * - `key`: "major" and "minor" (compute capability), "multi_processor_count", "warp_size",
 *   "max_threads_per_block", "max_threads_per_multi_processor", "regs_per_multiprocessor",
 *   "is_integrated", "is_multi_gpu_board"; in bytes "total_memory", "L2_cache_size",
 *   "shared_memory_per_block", "shared_memory_per_block_optin" (the most that a kernel may ask for)
 *   and "shared_memory_per_multiprocessor"; in kHz "clock_rate" and "memory_clock_rate", the
 *   highest there are; in bits "memory_bus_width".
 * - `out_value`: its value; 0 where the device has none.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown key, or where there is no such device;
 *   `FLAM_ERROR_NO_GPU`.
 */
FLAM_API flam_status flam_device_property(flam_device device, const char *key, int64_t *out_value);

/** All properties of a device.
 *
 * - `device`: a device.
 * - `out_text`: a JSON object: "name", "uuid" (such as "8932f937-d72c-4106-c12f-20bd9faed9f6",
 *   which the driver's tools write with "GPU-" before it; empty where there is none), and every key
 *   of `flam_device_property` with its number; valid until this thread's next call of this
 *   function.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device; `FLAM_ERROR_NO_GPU`.
 */
FLAM_API flam_status flam_device_properties(flam_device device, const char **out_text);

/** Free and total memory as the device itself counts them: what the cache holds is not free.
 *
 * - `device`: a device.
 * - `out_free`: bytes that it could still give.
 * - `out_total`: bytes in all.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device;
 *   `FLAM_ERROR_DEVICE_LOST`.
 */
FLAM_API flam_status
flam_device_memory_info(flam_device device, int64_t *out_free, int64_t *out_total);

/** Whether a device can read another one's memory without going through the host.
 *
 * - `device`: the device that reads.
 * - `peer`: the other device, of the same kind.
 * - returns: whether it can; false where one of them does not exist.
 */
FLAM_API flam_bool flam_device_can_access_peer(flam_device device, flam_device peer);

/* ---- the current device ---------------------------------------------------------------------- */

/** This thread's current device of a kind: what the kind's name without a number means.
 *
 * - `type`: the kind.
 * - returns: the device, with its number; the first one unless it was changed.
 */
FLAM_API flam_device flam_device_current(flam_device_type type);

/** Makes a device this thread's current one of its kind.
 *
 * - `device`: the device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_status flam_device_set_current(flam_device device);

/** Opens a scope in which a device is the current one of its kind.
 *
 * - `device`: the device.
 * - `out_scope`: the token for `flam_scope_pop`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_status flam_device_push(flam_device device, flam_scope *out_scope);

/** Waits until all work on all streams of a device is done. Faults of earlier work surface here.
 *
 * - `device`: the device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_LOST` where a kernel failed; `FLAM_ERROR_NO_GPU`;
 *   `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_device_synchronize(flam_device device);

/** Has host accesses to the memory of simulated devices named before their fault ends the process:
 * which device and tensor, in one line. Without this call such an access is the plain fault that it
 * is on a GPU.
 *
 * - `file_descriptor`: where the line is written, such as 2; -1 ends it.
 */
FLAM_API void flam_sim_report_host_access(int32_t file_descriptor);

/* ---- threads and libraries ------------------------------------------------------------------- */

/** How many threads a parallel loop on the cpu may use, the caller included. Results do not depend
 * on it.
 *
 * - returns: the number; at start `FLAMBEAU_NUM_THREADS`, or the cores that this process may use.
 */
FLAM_TORCH("torch")
FLAM_API int32_t flam_get_num_threads(void);

/** Sets how many threads a parallel loop on the cpu may use.
 *
 * - `num_threads`: at least 1.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where it is below 1, or inside a parallel loop.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_BLOCKS flam_status flam_set_num_threads(int32_t num_threads);

/** Makes every operation give the same bits in every run. Without it, additions to one place by an
 * indexed write (`index_add`, `scatter_add`, `index_put` with `accumulate`, the gradient of an
 * embedding or of indexing) happen in any order on a GPU; with it, in the order of the indices, as
 * on the cpu, and slower. Every operation has such a form.
 *
 * - `enabled`: whether results must be the same in every run.
 */
FLAM_API void flam_set_deterministic_enabled(flam_bool enabled);

/** Whether results must be the same in every run.
 *
 * - returns: what `flam_set_deterministic_enabled` set last; false at the start.
 */
FLAM_TORCH("torch.are_deterministic_algorithms_enabled")
FLAM_API flam_bool flam_deterministic_enabled(void);

/** Makes an operation that cannot give the same results in every run be warned of instead of
 * failing, as in PyTorch; there is none.
 *
 * - `enabled`: whether to warn only.
 */
FLAM_API void flam_set_deterministic_warn_only_enabled(flam_bool enabled);

/** Whether an operation that cannot give the same results in every run would only be warned of.
 *
 * - returns: what `flam_set_deterministic_warn_only_enabled` set last; false at the start.
 */
FLAM_TORCH("torch.is_deterministic_algorithms_warn_only_enabled")
FLAM_API flam_bool flam_deterministic_warn_only_enabled(void);

/** Whether elements that nobody sets, those of `flam_empty` and of what `flam_resize_` adds, get
 * one value while results must be the same in every run: NaN, the greatest integer, true.
 *
 * - `enabled`: whether to; on at the start.
 */
FLAM_API void flam_set_deterministic_fill_enabled(flam_bool enabled);

/** Whether elements that nobody sets get one value while results must be the same in every run.
 *
 * - returns: what `flam_set_deterministic_fill_enabled` set last; true at the start.
 */
FLAM_API flam_bool flam_deterministic_fill_enabled(void);

/** What products of f32 matrices may lose for speed, on GPUs that have units for it. */
typedef int32_t flam_matmul_precision;
enum {
  FLAM_MATMUL_PRECISION_UNSPECIFIED = 0,
  FLAM_MATMUL_PRECISION_HIGHEST = 1, /* nothing */
  FLAM_MATMUL_PRECISION_HIGH = 2, /* operands may be rounded to TF32, 10 bits of mantissa */
  FLAM_MATMUL_PRECISION_MEDIUM = 3 /* to bfloat16 as well, 7 bits; TF32 is what is used */
};

/** Allows products of f32 matrices on CUDA devices to round their operands, from the next product
 * on; sums stay f32. The cpu's products never do.
 *
 * - `precision`: how much may be lost.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where it is none of these.
 */
FLAM_API flam_status flam_set_float32_matmul_precision(flam_matmul_precision precision);

/** What products of f32 matrices may lose for speed.
 *
 * - returns: what `flam_set_float32_matmul_precision` set last; at the start
 *   `FLAM_MATMUL_PRECISION_HIGHEST`.
 */
FLAM_API flam_matmul_precision flam_get_float32_matmul_precision(void);

/** Names a directory in which libraries such as cuBLASLt are looked for, before the system's.
 *
 * - `path`: the directory; it counts for libraries that are not open yet.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `path` is empty.
 */
FLAM_API flam_status flam_library_directory_add(const char *path);

/** What was looked for, found and rejected so far, library by library.
 *
 * - returns: one line per place, valid until this thread's next call of this function; the empty
 *   string where no library was needed yet.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_library_report(void);

/** What this process found on its machine: library, processor and instruction set, threads, memory,
 * driver and libraries of CUDA, devices, simulated ones, environment variables. Libraries are
 * opened as their first use would open them.
 *
 * - returns: a JSON object with the list `facts`; each has `group`, `name`, `state` ("well",
 *   "missing", "neutral"), `value` (what was found, or why not) and `fix` (the line to paste where
 *   something is missing). Valid until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API FLAM_BLOCKS const char *flam_environment(void);

#ifdef __cplusplus
}
#endif
#endif
