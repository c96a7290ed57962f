/* Data parallel training over a group: each rank computes gradients of its part of a batch, and
 * backward leaves their mean on all of them.
 * namespace: capi
 *
 * Gradients are reduced in buckets while backward goes on; every rank does the same forwards and
 * backwards in the same order. A step is `flam_ddp_prepare_forward`, the module's forward,
 * `flam_ddp_prepare_backward`, `flam_backward`, and the optimizer's step.
 */
#ifndef FLAMBEAU_DDP_H
#define FLAMBEAU_DDP_H

#include "flambeau/common.h"
#include "flambeau/distributed.h"
#include "flambeau/module.h"
#include "flambeau/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_ddp_new`. */
typedef struct flam_ddp_new_options {
  size_t struct_size; /**< sizeof(flam_ddp_new_options) */
  /** compare parameters of all ranks and begin with those of rank 0, and its buffers; default
   *  true */
  flam_bool init_sync FLAM_DEFAULT(1);
  /** begin every forward with the buffers of rank 0; default true */
  flam_bool broadcast_buffers FLAM_DEFAULT(1);
  /** look which parameters the outputs depend on, where that differs from step to step; default
   *  false */
  flam_bool find_unused_parameters FLAM_DEFAULT(0);
  /** every step uses the same parameters the same number of times; default false */
  flam_bool static_graph FLAM_DEFAULT(0);
  /** gradients are views of the buckets, which saves a copy of them all; default false */
  flam_bool gradient_as_bucket_view FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
  double bucket_cap_mb FLAM_DEFAULT(25); /**< MiB of a bucket but the first; default 25 */
  double first_bucket_mb FLAM_DEFAULT(1); /**< MiB of the first bucket; default 1 */
} flam_ddp_new_options;

/** Makes a module's gradients the mean over a group. All ranks call it with the same module.
 *
 * - `group`: the ranks that train together; kept alive.
 * - `module`: its parameters and buffers as they are now; kept alive. Trained on one device.
 * - returns: the coupling; the module is as before where it is released.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where no parameter requires grad, or parameters differ
 *   between ranks, naming the first that does and the ranks; those of a collective.
 */
FLAM_API FLAM_BLOCKS flam_ddp *flam_ddp_new(
    const flam_group *group, const flam_module *module, const flam_ddp_new_options *options);

/** The same for parameters that belong to no module of the library.
 *
 * - `group`: the ranks that train together; kept alive.
 * - `parameters`: leaves with their names, each tensor once; kept alive.
 * - `buffers`: tensors that are no parameters; kept alive. `NULL`: none.
 * - returns: the coupling.
 * - errors: as of `flam_ddp_new`, `FLAM_ERROR_INVALID_ARGUMENT` among them;
 *   `FLAM_ERROR_AUTOGRAD` for a parameter that is no leaf.
 */
FLAM_API FLAM_BLOCKS flam_ddp *flam_ddp_of(
    const flam_group *group, const flam_state *parameters, FLAM_NULLABLE const flam_state *buffers,
    const flam_ddp_new_options *options);

/** Begins a forward: sees that the last backward has reduced all, and takes rank 0's buffers.
 *
 * - `ddp`: the coupling.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_AUTOGRAD` where parameters got no gradient in the last backward, naming
 *   them; those of a collective.
 */
FLAM_API FLAM_BLOCKS flam_status flam_ddp_prepare_forward(flam_ddp *ddp);

/** Ends a forward: the next backward reduces, unless recording is off or synchronization is.
 *
 * - `ddp`: the coupling.
 * - `outputs`: what backward will begin at, where unused parameters are looked for; else ignored.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_status
flam_ddp_prepare_backward(flam_ddp *ddp, flam_tensor *const *outputs, size_t n_outputs);

/** Opens a scope whose forwards leave gradients on their rank, where they add up until a backward
 * outside of it reduces them.
 *
 * - `ddp`: the coupling.
 * - returns: the token for `flam_scope_pop`.
 */
FLAM_API flam_scope flam_ddp_no_sync_push(flam_ddp *ddp);

/** Sets whether gradients of further forwards are reduced.
 *
 * - `ddp`: the coupling.
 * - `enabled`: as at first.
 */
FLAM_API void flam_ddp_set_sync(flam_ddp *ddp, flam_bool enabled);

/** Announces that every step uses the same parameters the same number of times.
 *
 * - `ddp`: the coupling, before its first backward.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` after the first backward.
 */
FLAM_API flam_status flam_ddp_set_static_graph(flam_ddp *ddp);

/** What sums of gradients are divided by.
 *
 * - `ddp`: the coupling.
 * - `divisor`: positive; the number of ranks at first.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API flam_status flam_ddp_set_divisor(flam_ddp *ddp, double divisor);

/** Takes part in one step of the other ranks without data: adds zeros to their gradients. This
 * rank's gradients stay as they are.
 *
 * - `ddp`: the coupling.
 * - returns: `FLAM_OK`.
 * - errors: those of a collective.
 */
FLAM_API FLAM_BLOCKS flam_status flam_ddp_shadow(flam_ddp *ddp);

/** Leaves the root's tensors in those of all ranks, whatever their dtypes.
 *
 * - `ddp`: the coupling.
 * - `tensors`: the same on all ranks; written but on the root.
 * - `root`: its rank in the group; default 0.
 * - returns: `FLAM_OK`.
 * - errors: those of a collective.
 */
FLAM_API FLAM_BLOCKS flam_status flam_ddp_broadcast(
    flam_ddp *ddp, flam_tensor *const *tensors, size_t n_tensors, int64_t root FLAM_DEFAULT(0));

/* ---- buckets --------------------------------------------------------------------------------- */

/** How many buckets there are. They are made anew once, after the first backward.
 *
 * - `ddp`: the coupling.
 * - returns: the number.
 */
FLAM_API size_t flam_ddp_bucket_count(const flam_ddp *ddp);

/** The memory of a bucket.
 *
 * - `ddp`: the coupling.
 * - `bucket`: from 0, in the order of reduction.
 * - returns: a tensor of one dimension.
 * - errors: `FLAM_ERROR_INDEX`.
 */
FLAM_API flam_tensor *flam_ddp_bucket_buffer(const flam_ddp *ddp, size_t bucket);

/** Puts other values in the place of a bucket's memory, before it is reduced.
 *
 * - `ddp`: the coupling.
 * - `bucket`: from 0.
 * - `buffer`: contiguous, of the size of the bucket.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX`, `FLAM_ERROR_SHAPE`.
 */
FLAM_API flam_status
flam_ddp_bucket_set_buffer(flam_ddp *ddp, size_t bucket, const flam_tensor *buffer);

/** A bucket's gradients, in the shapes of its parameters.
 *
 * - `ddp`: the coupling.
 * - `bucket`: from 0.
 * - returns: views of the bucket.
 * - errors: `FLAM_ERROR_INDEX`.
 */
FLAM_API flam_tensor_list *flam_ddp_bucket_gradients(const flam_ddp *ddp, size_t bucket);

/** The parameters whose gradients a bucket holds.
 *
 * - `ddp`: the coupling.
 * - `bucket`: from 0.
 * - returns: the parameters, in the order of the gradients.
 * - errors: `FLAM_ERROR_INDEX`.
 */
FLAM_API flam_tensor_list *flam_ddp_bucket_parameters(const flam_ddp *ddp, size_t bucket);

/* ---- communication hooks --------------------------------------------------------------------- */

/** What is done with a bucket in the place of the sum that is divided by the number of ranks. Every
 * rank must do the same. */
typedef struct flam_ddp_hook {
  size_t struct_size; /* sizeof(flam_ddp_hook) */
  void *user; /* handed to the functions below */
  /* Begins to reduce `buffer`, borrowed, the memory of bucket `bucket` with this rank's gradients;
   * backward goes on where it returns. May set `*out_pending` to what `finish` then gets. Returns
   * FLAM_OK, or records with flam_error_set and returns FLAM_ERROR_CALLBACK. */
  flam_status (*begin)(void *user, size_t bucket, const flam_tensor *buffer, void **out_pending);
  /* Waits for the result: an owned tensor of as many elements in `*out_reduced`, or NULL where it
   * is in the bucket itself. Returns as `begin` does. */
  flam_status (*finish)(void *user, void *pending, flam_tensor **out_reduced);
  /* Called exactly once per pending that is not NULL; may be NULL. */
  void (*drop_pending)(void *user, void *pending);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_ddp_hook;

/** Has a program's function reduce the buckets.
 *
 * - `ddp`: the coupling.
 * - `hook`: the functions; copied.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where it has a hook, or a function is missing; `drop` has
 *   been called then.
 */
FLAM_API flam_status flam_ddp_register_hook(flam_ddp *ddp, const flam_ddp_hook *hook);

/** Has gradients sent in half of the bytes.
 *
 * - `ddp`: the coupling.
 * - `dtype`: `FLAM_F16` or `FLAM_BF16`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` where it has a hook.
 */
FLAM_API flam_status flam_ddp_compress(flam_ddp *ddp, flam_dtype dtype);

/** Gives back a count. Parameters, and what gradients they have, stay.
 *
 * - `ddp`: the coupling, or `NULL`.
 */
FLAM_API FLAM_BLOCKS void flam_ddp_release(FLAM_NULLABLE flam_ddp *ddp);

#ifdef __cplusplus
}
#endif
#endif
