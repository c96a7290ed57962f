/* Saved values: functions through which they go, and recomputation in their place.
 * namespace: capi
 *
 * An operation saves what its gradient will read. Hooks put something of the program's own in the
 * place of such a value: a copy elsewhere, a smaller form. A checkpoint keeps nothing and runs the
 * program's function again when backward needs the values. Both are scopes of a thread; what was
 * saved under them keeps to them, on whatever thread backward runs.
 */
#ifndef FLAMBEAU_SAVED_H
#define FLAMBEAU_SAVED_H

#include "flambeau/common.h"
#include "flambeau/module.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Functions around saved values. */
typedef struct flam_saved_hooks {
  size_t struct_size; /* sizeof(flam_saved_hooks) */
  void *user; /* handed to the functions below */
  /* Called in the middle of the operation that saves `tensor`, borrowed, with recording off;
   * must not write to it. `*out_packed` is NULL and takes what stands for the tensor. Returns
   * FLAM_OK, or records with flam_error_set and returns FLAM_ERROR_CALLBACK. */
  flam_status (*pack)(void *user, const flam_tensor *tensor, void **out_packed);
  /* Called when backward needs the value: writes an owned tensor of the same shape, dtype and
   * device. May be called several times, and on another thread. Returns as `pack` does. */
  flam_status (*unpack)(void *user, void *packed, flam_tensor **out_tensor);
  void (*drop_packed)(void *user, void *packed); /* once for each that was packed; may be NULL */
  void (*drop)(void *user); /* called exactly once, after all others; may be NULL */
} flam_saved_hooks;

/** Opens a scope in which saved values go through hooks; those of the innermost scope are called.
 *
 * - `hooks`: the functions; copied. Versions of values that went through them are not checked, and
 *   bare numbers do not go through them.
 * - `out_scope`: the token for `flam_scope_pop`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where a function is missing; `FLAM_ERROR_AUTOGRAD` where
 *   `flam_saved_hooks_disable_push` forbids hooks. `drop` has been called then.
 */
FLAM_API flam_status flam_saved_hooks_push(const flam_saved_hooks *hooks, flam_scope *out_scope);

/** Opens a scope in which no hooks may be set.
 *
 * - `message`: what the attempt to set some fails with.
 * - `out_scope`: the token for `flam_scope_pop`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_AUTOGRAD` with the message where hooks are set already.
 */
FLAM_API flam_status flam_saved_hooks_disable_push(const char *message, flam_scope *out_scope);

/** Why no hooks may be set on this thread.
 *
 * - returns: the message given to `flam_saved_hooks_disable_push`, or `NULL` where hooks may be
 *   set; valid while that scope is open.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_saved_hooks_disabled(void);

/** A function whose saved values are recomputed. */
typedef struct flam_recompute {
  size_t struct_size; /* sizeof(flam_recompute) */
  void *user; /* handed to the functions below */
  /* Does again what was done in the scope. `inputs`: those given to flam_checkpoint_push,
   * borrowed. Returns FLAM_OK, or records with flam_error_set and returns FLAM_ERROR_CALLBACK.
   * With `early_stop` an operation fails with FLAM_ERROR_RECOMPUTE once the last value is there;
   * return FLAM_ERROR_CALLBACK then, too. */
  flam_status (*run)(void *user, flam_tensor *const *inputs, size_t n_inputs);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_recompute;

/** Options of `flam_checkpoint_push`. */
typedef struct flam_checkpoint_push_options {
  size_t struct_size; /**< sizeof(flam_checkpoint_push_options) */
  /** whether the second run draws the random numbers of the first; default true */
  flam_bool preserve_rng_state FLAM_DEFAULT(1);
  /** whether the second run ends once the last value is there; default true */
  flam_bool early_stop FLAM_DEFAULT(1);
  /** whether the values of the second run must have the shapes, dtypes and devices of the first;
   *  default true */
  flam_bool check_determinism FLAM_DEFAULT(1);
  int32_t reserved; /**< 0 */
} flam_checkpoint_push_options;

/** Opens a scope in which nothing is kept for backward: when backward needs a value of it, a
 * function that does the same runs again, and the values are taken from that run. It runs with
 * recording on, under the autocast that is in force now.
 *
 * - `function`: the function; copied.
 * - `inputs`: its operands. Hooks and checkpoints around this one see them as saved values.
 * - `out_scope`: the token for `flam_scope_pop`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where the function is missing; `FLAM_ERROR_AUTOGRAD`
 *   where hooks are disabled. `drop` has been called then. Backward fails with
 *   `FLAM_ERROR_RECOMPUTE` where the second run saves other values.
 * - source: Chen et al., 2016, arXiv 1604.06174.
 */
FLAM_API flam_status flam_checkpoint_push(
    const flam_recompute *function, flam_tensor *const *inputs, size_t n_inputs,
    flam_scope *out_scope, const flam_checkpoint_push_options *options);

/** Runs a module in a checkpoint: of all that its operations save, only the inputs stay, and
 * backward runs the module again.
 *
 * - `module`: the module.
 * - `inputs`: its inputs, in order.
 * - `preserve_rng_state`: whether the second run draws the random numbers of the first; default
 *   true.
 * - returns: its output.
 * - errors: those of its operations; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_DTYPE`.
 * - source: Chen et al., 2016, arXiv 1604.06174.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_module_checkpoint(
    flam_module *module, flam_tensor *const *inputs, size_t n_inputs,
    flam_bool preserve_rng_state FLAM_DEFAULT(1));

/** Whether the backward pass that runs on this thread accumulates into every leaf it reaches: not
 * where its inputs were given, and not in `flam_grad`. A function whose gradient starts a pass of
 * its own needs to know.
 *
 * - returns: false where no backward runs.
 */
FLAM_API flam_bool flam_backward_is_whole(void);

/** The number of the backward pass that runs on this thread, the innermost where one runs in
 * another. Hooks tell passes apart by it.
 *
 * - returns: the number, which no other pass has; 0 where none runs.
 */
FLAM_API uint64_t flam_backward_pass(void);

/** Whether the backward pass that runs on this thread computes the gradient of a tensor.
 *
 * - `tensor`: any tensor.
 * - returns: false where no backward runs.
 */
FLAM_API flam_bool flam_backward_reaches(const flam_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
