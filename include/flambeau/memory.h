/* Memory of devices: statistics, limits and reports of the caching allocator.
 * namespace: capi
 *
 * Statistics have PyTorch's names and meaning. They exist for every device, the cpu included. For a
 * device that does not exist, numbers are 0 and texts are empty.
 */
#ifndef FLAMBEAU_MEMORY_H
#define FLAMBEAU_MEMORY_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes that tensors use now.
 *
 * - `device`: the device.
 * - returns: bytes, rounded up per tensor as they were allocated.
 */
FLAM_API int64_t flam_memory_allocated(flam_device device);

/** The most bytes that tensors used at one time since the last reset.
 *
 * - `device`: the device.
 * - returns: bytes.
 */
FLAM_API int64_t flam_memory_max_allocated(flam_device device);

/** Bytes that the cache has from the device, in use or not.
 *
 * - `device`: the device.
 * - returns: bytes.
 */
FLAM_API int64_t flam_memory_reserved(flam_device device);

/** The most bytes that the cache had from the device since the last reset.
 *
 * - `device`: the device.
 * - returns: bytes.
 */
FLAM_API int64_t flam_memory_max_reserved(flam_device device);

/** One statistic by its key.
 *
 * - `device`: the device.
 * - `key`: as in `torch.cuda.memory_stats()`, for example "allocated_bytes.all.peak" or "num_ooms".
 * - `out_value`: its value.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown key; `FLAM_ERROR_NO_GPU`.
 */
FLAM_API flam_status flam_memory_stat(flam_device device, const char *key, int64_t *out_value);

/** All statistics of a device.
 *
 * - `device`: the device.
 * - returns: a JSON object of numbers, keys sorted, valid until this thread's next call of this
 *   function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_memory_stats(flam_device device);

/** All statistics of pinned host memory, under the same keys.
 *
 * - returns: a JSON object of numbers, keys sorted, valid until this thread's next call of this
 *   function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_memory_pinned_stats(void);

/** Lets the peaks start again from what is in use now.
 *
 * - `device`: the device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_status flam_memory_reset_peak_stats(flam_device device);

/** Lets the totals (`allocated`, `freed`, counts of events) start again from 0.
 *
 * - `device`: the device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API flam_status flam_memory_reset_accumulated_stats(flam_device device);

/** Gives cached memory that no tensor uses back to the device.
 *
 * - `device`: the device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device.
 */
FLAM_API FLAM_BLOCKS flam_status flam_memory_empty_cache(flam_device device);

/** Gives cached pinned host memory that no tensor uses back to the system.
 *
 * - returns: `FLAM_OK`.
 * - errors: none.
 */
FLAM_API FLAM_BLOCKS flam_status flam_memory_empty_pinned_cache(void);

/** Limits how much of a device this process takes; beyond it, allocations fail as out of memory.
 *
 * - `fraction`: of the device's total memory, 0 to 1.
 * - `device`: the device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another fraction; `FLAM_ERROR_NO_GPU`.
 */
FLAM_API flam_status flam_memory_set_fraction(double fraction, flam_device device);

/** The fraction set by `flam_memory_set_fraction`.
 *
 * - `device`: the device.
 * - returns: the fraction; 1 unless set.
 */
FLAM_API double flam_memory_fraction(flam_device device);

/** Sets how the caches of all GPUs behave from now on, in the words of PyTorch's
 * `PYTORCH_ALLOC_CONF`. At start the first counts that is set of `FLAMBEAU_ALLOC_CONF`,
 * `PYTORCH_ALLOC_CONF` and `PYTORCH_CUDA_ALLOC_CONF`.
 *
 * - `settings`: pairs `key:value` separated by commas; what is left out is as without any.
 *   `expandable_segments:True` lets memory grow in place, so that sizes that change from step to
 *   step leave no holes; `max_split_size_mb:N` cuts no block of N MiB (above 20) or more;
 *   `garbage_collection_threshold:X` gives cached memory back when the process has more than that
 *   share of what it may take; `roundup_power2_divisions:N` or `[256:N,512:N,>:N]` rounds requests
 *   up to one of N steps between powers of two, by sizes in MiB; `backend:native` changes nothing.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for any other key or value.
 */
FLAM_API flam_status flam_memory_set_allocator_settings(const char *settings);

/** The statistics as a table for people.
 *
 * - `device`: the device.
 * - `abbreviated`: whether to leave out the rows per pool; default false.
 * - returns: the table, valid until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_memory_summary(flam_device device, flam_bool abbreviated FLAM_DEFAULT(0));

/** Every segment and block of every device, in the schema of PyTorch's memory snapshots; blocks
 * carry the op and module that asked for them.
 *
 * - returns: JSON, valid until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_memory_snapshot(void);

/** Keeps the last events of every allocator for the snapshot's `device_traces`.
 *
 * - `max_entries`: how many per device, in [0, 16777216]; 0 stops and forgets them.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_status flam_memory_record_history(size_t max_entries);

/** Writes what `flam_memory_record_history` kept as one HTML page that needs no network: allocated
 * and reserved memory over time, and who held what at the peak, by module, op and shape.
 *
 * - `path`: the file; an existing one is replaced only by a whole new one.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where nothing was recorded; `FLAM_ERROR_IO` with the
 *   system's reason.
 */
FLAM_API FLAM_BLOCKS flam_status flam_memory_timeline(const char *path);

/** Lets an allocation fail as out of memory, so that a program can be tested to survive it. Every
 * allocation of device memory counts, that of the cpu's tensors included, on all threads.
 *
 * - `nth`: which one from now on, 1 for the next; 0 lets all succeed again.
 * - `forever`: whether all after it fail, too; default false.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative `nth`.
 */
FLAM_API flam_status flam_memory_fail_allocation(int64_t nth, flam_bool forever FLAM_DEFAULT(0));

/* ---- private pools --------------------------------------------------------------------------- */

/** Device memory that no other allocations get, as long as somebody holds the pool. */
typedef struct flam_memory_pool flam_memory_pool;

/** A pool of its own, empty.
 *
 * - `device`: the device; default: the current accelerator, CUDA before simulated.
 * - returns: the pool.
 * - errors: `FLAM_ERROR_NO_GPU`; `FLAM_ERROR_UNSUPPORTED` on the cpu.
 */
FLAM_API flam_memory_pool *flam_memory_pool_new(flam_device device FLAM_DEFAULT(0));

/** Gives back a count. When nobody holds the pool, what is free of it goes back to the device at
 * the next `flam_memory_empty_cache`; tensors that lie in it stay good.
 *
 * - `pool`: the pool, or `NULL`.
 */
FLAM_API void flam_memory_pool_release(FLAM_NULLABLE flam_memory_pool *pool);

/** The device of a pool.
 *
 * - `pool`: the pool.
 * - returns: the device.
 */
FLAM_API flam_device flam_memory_pool_device(const flam_memory_pool *pool);

/** Lets this thread's allocations on the pool's device come out of it until the scope is popped.
 *
 * - `pool`: the pool.
 * - `out_scope`: what `flam_scope_pop` takes; the pool before is in use again then.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status flam_memory_pool_push(flam_memory_pool *pool, flam_scope *out_scope);

#ifdef __cplusplus
}
#endif
#endif
