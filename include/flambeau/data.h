/* Data sets and the loader: batches fetched ahead on native threads, in an order that depends on
 * the seed and not on the number of workers.
 * namespace: capi
 */
#ifndef FLAMBEAU_DATA_H
#define FLAMBEAU_DATA_H

#include "flambeau/common.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a data set written in a host language provides. */
typedef struct flam_dataset_vtable {
  size_t struct_size; /* sizeof(flam_dataset_vtable) */
  void *user; /* handed to the functions below */
  /* The number of samples; negative where it is not known. */
  int64_t (*size)(void *user);
  /* Fetches and collates one batch on a worker thread. Writes an owned list, or `*out_item` for
   * a batch that is no list of tensors. Returns FLAM_OK, or records with flam_error_set and
   * returns FLAM_ERROR_CALLBACK. */
  flam_status (*fetch)(
      void *user, const int64_t *indices, size_t n_indices, flam_tensor_list **out_batch,
      void **out_item);
  void (*drop_item)(void *item); /* for items nobody took; may be NULL */
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_dataset_vtable;

/** A data set of tensors: sample i is the i-th entry of each along dimension 0.
 *
 * - `tensors`: at least one, all with the same size of dimension 0.
 * - returns: the data set; it shares the tensors' memory.
 * - errors: `FLAM_ERROR_SHAPE` where the sizes differ; `FLAM_ERROR_INVALID_ARGUMENT` for an empty
 *   list.
 */
FLAM_API flam_dataset *flam_dataset_from_tensors(flam_tensor *const *tensors, size_t n_tensors);

/** A data set written in a host language.
 *
 * - `vtable`: its functions; copied. `drop` is called also where this call fails.
 * - returns: the data set.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown struct size or a missing `fetch`.
 */
FLAM_API flam_dataset *flam_dataset_new(const flam_dataset_vtable *vtable);

/** The number of samples.
 *
 * - `dataset`: the data set.
 * - returns: the number, negative where it is not known.
 */
FLAM_API int64_t flam_dataset_size(const flam_dataset *dataset);

/** Drops a reference to a data set.
 *
 * - `dataset`: the data set, or `NULL`.
 */
FLAM_API void flam_dataset_release(FLAM_NULLABLE flam_dataset *dataset);

/** How a loader makes batches. */
typedef struct flam_loader_options {
  size_t struct_size; /**< sizeof(flam_loader_options) */
  int64_t batch_size FLAM_DEFAULT(1); /**< samples per batch; default 1 */
  flam_bool shuffle FLAM_DEFAULT(0); /**< a new order every epoch; default false */
  /** whether to drop an incomplete last batch; default false */
  flam_bool drop_last FLAM_DEFAULT(0);
  /** threads that fetch ahead; default 0: the caller fetches */
  int64_t num_workers FLAM_DEFAULT(0);
  int64_t prefetch_factor FLAM_DEFAULT(2); /**< batches in flight per worker; default 2 */
  /** whether batches lie in page-locked memory; default false */
  flam_bool pin_memory FLAM_DEFAULT(0);
  uint64_t seed FLAM_DEFAULT(0); /**< of the order; default 0 */
  double timeout FLAM_DEFAULT(0); /**< seconds to wait for a worker's batch; default 0: forever */
} flam_loader_options;

/** A loader over a data set.
 *
 * - `dataset`: where samples come from; kept alive.
 * - returns: the loader, before the first batch of epoch 0.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it.
 */
FLAM_API flam_loader *flam_loader_new(flam_dataset *dataset, const flam_loader_options *options);

/** The next batch of the running epoch. At the epoch's end there is none, and the next call begins
 * the epoch after it.
 *
 * - `loader`: the loader.
 * - `out_batch`: the batch's tensors, or NULL at the epoch's end (or where the batch is an item).
 * - `out_item`: what a host data set made instead of a list, or NULL; the caller owns it. Either
 *   may be passed as `NULL`: what comes is then released, or dropped by the data set.
 * - returns: `FLAM_OK`.
 * - errors: what the data set's fetch failed with; the batch counts as delivered.
 *   `FLAM_ERROR_CALLBACK` where a worker did not deliver within the option `timeout`; the next call
 *   waits for the same batch again.
 */
FLAM_API FLAM_BLOCKS flam_status flam_loader_next(
    flam_loader *loader, FLAM_NULLABLE flam_tensor_list **out_batch, FLAM_NULLABLE void **out_item);

/** Batches per epoch.
 *
 * - `loader`: the loader.
 * - returns: the number of batches; negative where the data set's size is not known.
 */
FLAM_API int64_t flam_loader_size(const flam_loader *loader);

/** Waits until `flam_loader_next` need not wait for a worker, or the time is over: for hosts that
 * look for signals in between.
 *
 * - `loader`: the loader.
 * - `seconds`: how long to wait at most; 0 only asks.
 * - `out_ready`: whether the next batch is there; also true where nothing is in flight, and without
 *   workers, as `flam_loader_next` itself fetches then.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative time.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_loader_wait(flam_loader *loader, double seconds, flam_bool *out_ready);

/** Where a loader stands: what to store in a checkpoint.
 *
 * - `loader`: the loader.
 * - `out_epoch`: the running epoch, from 0.
 * - `out_batch`: batches of it that were delivered.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status
flam_loader_position(const flam_loader *loader, int64_t *out_epoch, int64_t *out_batch);

/** Continues from a position exactly as if the loader had come there by itself; batches in flight
 * are dropped.
 *
 * - `loader`: the loader.
 * - `epoch`: from 0.
 * - `batch`: batches of it to skip, without fetching them; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` where the position is outside the epoch.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_loader_seek(flam_loader *loader, int64_t epoch, int64_t batch FLAM_DEFAULT(0));

/** Queues a batch of the caller's own choice, for loaders whose order is made by a host language's
 * sampler. It is delivered by `flam_loader_next` in the order of submission, and the loader makes
 * no batches of its own from the first submission on.
 *
 * - `loader`: the loader.
 * - `indices`: the samples of the batch.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_status
flam_loader_submit(flam_loader *loader, const int64_t *indices, size_t n_indices);

/** Stops the workers and drops a reference to a loader.
 *
 * - `loader`: the loader, or `NULL`.
 */
FLAM_API FLAM_BLOCKS void flam_loader_release(FLAM_NULLABLE flam_loader *loader);

#ifdef __cplusplus
}
#endif
#endif
