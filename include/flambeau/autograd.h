/* Gradients: the backward pass, modes, hooks and functions with a gradient of the caller's own.
 * namespace: capi
 *
 * A backward pass runs each operation's gradient on the device and the stream of its forward, with
 * its hooks; leaves accumulate, with theirs, on the streams that are current where the pass is
 * called, which need not wait for those of the forward before it and have waited for them after it.
 *
 * Modes are thread-local. A `push` returns a token that `flam_scope_pop` takes back on the same
 * thread, in reverse order; 0 and an error where memory runs out, or where the thread is ending and
 * has closed its scopes. Callbacks run on the thread that runs backward, with no lock held.
 */
#ifndef FLAMBEAU_AUTOGRAD_H
#define FLAMBEAU_AUTOGRAD_H

#include "flambeau/common.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A recorded operation (or a leaf, as `AccumulateGrad`) in the graph that backward walks. */
typedef struct flam_node flam_node;

/** A registered hook; releasing it does not remove the hook. */
typedef struct flam_hook flam_hook;

/** A value kept for backward, with the version it had. */
typedef struct flam_saved flam_saved;

/** A function on a gradient (or, after accumulation, on the leaf). */
typedef struct flam_hook_callback {
  size_t struct_size; /* sizeof(flam_hook_callback) */
  void *user; /* handed to the functions below */
  /* Sees `grad`, borrowed; `*out_grad` is NULL and may be set to an owned replacement. Returns
   * FLAM_OK, or records with flam_error_set and returns FLAM_ERROR_CALLBACK. */
  flam_status (*call)(void *user, const flam_tensor *grad, flam_tensor **out_grad);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
  /* Whether it is called, with `grad` NULL, where backward comes by the tensor's operation and has
   * no gradient of the tensor. Default: not. */
  flam_bool absent;
  int32_t reserved; /* 0 */
} flam_hook_callback;

/** A function on all gradients that a node takes or gives. */
typedef struct flam_node_hook_callback {
  size_t struct_size; /* sizeof(flam_node_hook_callback) */
  void *user; /* handed to the functions below */
  /* `given`: the gradients that may be replaced: before the node runs those of its results, after
   * it those of its operands, which it computed; borrowed, NULL where there is none. `seen`: after
   * it those of its results, else none. `out_given`: n_out_given NULLs, one per entry of `given`,
   * which may be set to owned replacements. Returns FLAM_OK, or records with flam_error_set and
   * returns FLAM_ERROR_CALLBACK. */
  flam_status (*call)(
      void *user, flam_tensor *const *given, size_t n_given, flam_tensor *const *seen,
      size_t n_seen, flam_tensor **out_given, size_t n_out_given);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_node_hook_callback;

/** What a host language keeps with a thread, and the library takes along where it goes on with that
 * thread's work on another one: a backward pass deep inside of others gets a stack of its own. */
typedef struct flam_thread_state {
  size_t struct_size; /* sizeof(flam_thread_state) */
  void *user; /* handed to the functions below */
  /* Sets `out_state` to what the calling thread has now; NULL stands for nothing. Returns FLAM_OK,
   * or records with flam_error_set and returns FLAM_ERROR_CALLBACK. */
  flam_status (*take)(void *user, void **out_state);
  /* Puts such a state, or NULL for nothing, in the place of what the calling thread has: on the
   * other thread, and what that came to on the first again. Returns as above. */
  flam_status (*give)(void *user, void *state);
  /* Called exactly once per state that is not NULL; may be NULL. */
  void (*drop_state)(void *user, void *state);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_thread_state;

/** The gradient of a function that the caller wrote. */
typedef struct flam_function {
  size_t struct_size; /* sizeof(flam_function) */
  void *user; /* handed to the functions below */
  const char *name; /* shown as grad_fn; copied */
  flam_bool
      materialize_grads; /* whether missing gradients of outputs arrive as zeros, not as NULL */
  /* `grads`: one per output, borrowed. `out_grads`: n_out_grads NULLs, one per input, to be set
   * to owned tensors; NULL means zero. Returns FLAM_OK, or records with flam_error_set and
   * returns FLAM_ERROR_CALLBACK. */
  flam_status (*backward)(
      void *user, flam_tensor *const *grads, size_t n_grads, flam_tensor **out_grads,
      size_t n_out_grads);
  void (*release_saved)(void *user); /* saved values may go: a later backward fails; may be NULL */
  void (*drop)(void *user); /* called exactly once, also where recording fails; may be NULL */
} flam_function;

/* ---- the backward pass ---------------------------------------------------------------------- */

/** Computes gradients of a loss and adds them to the leaves' gradients.
 *
 * - `loss`: one element that requires grad.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_AUTOGRAD` where nothing requires grad, the graph was freed or a saved value
 *   was overwritten; `FLAM_ERROR_SHAPE` for more than one element; what a callback failed with.
 */
FLAM_API FLAM_BLOCKS flam_status flam_backward(const flam_tensor *loss);

/** Options of `flam_autograd_backward`. */
typedef struct flam_autograd_backward_options {
  size_t struct_size; /**< sizeof(flam_autograd_backward_options) */
  /** their gradients, in their shapes; a NULL entry stands for 1 and needs one element; default:
   *  all NULL */
  flam_tensor *const *grad_tensors FLAM_DEFAULT(NULL) FLAM_NULLABLE_ENTRIES;
  size_t n_grad_tensors;
  /** whether saved values stay for another pass; `create_graph` implies it; default false */
  flam_bool retain_graph FLAM_DEFAULT(0);
  /** whether the gradients can be differentiated themselves; default false */
  flam_bool create_graph FLAM_DEFAULT(0);
  /** the only leaves to accumulate into; default: all */
  flam_tensor *const *inputs FLAM_DEFAULT(NULL);
  size_t n_inputs;
} flam_autograd_backward_options;

/** Computes gradients of `tensors` and adds them to the leaves' gradients.
 *
 * - `tensors`: where to start; each requires grad.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_AUTOGRAD` where nothing requires grad, the graph was freed or a saved value
 *   was overwritten; `FLAM_ERROR_SHAPE` for a gradient of another shape, `FLAM_ERROR_DTYPE` for one
 *   that is complex where its tensor is not, or the other way; what a callback failed with.
 */
FLAM_API FLAM_BLOCKS flam_status flam_autograd_backward(
    flam_tensor *const *tensors, size_t n_tensors, const flam_autograd_backward_options *options);

/** Options of `flam_grad`. */
typedef struct flam_grad_options {
  size_t struct_size; /**< sizeof(flam_grad_options) */
  /** gradients of `outputs`; a NULL entry stands for 1 and needs one element; default: all NULL */
  flam_tensor *const *grad_outputs FLAM_DEFAULT(NULL) FLAM_NULLABLE_ENTRIES;
  size_t n_grad_outputs;
  /** whether saved values stay for another pass; `create_graph` implies it; default false */
  flam_bool retain_graph FLAM_DEFAULT(0);
  /** whether the gradients can be differentiated themselves; default false */
  flam_bool create_graph FLAM_DEFAULT(0);
  /** whether an input that `outputs` do not depend on gives a missing entry instead of an error;
   *  default false */
  flam_bool allow_unused FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_grad_options;

/** Computes gradients of `outputs` with respect to `inputs` and accumulates nothing.
 *
 * - `outputs`: where to start; each requires grad.
 * - `inputs`: what to differentiate by; each requires grad.
 * - returns: one gradient per input.
 * - errors: as `flam_autograd_backward`; `FLAM_ERROR_AUTOGRAD` for an unused input.
 */
FLAM_API FLAM_BLOCKS flam_tensor_list *flam_grad(
    flam_tensor *const *outputs, size_t n_outputs, flam_tensor *const *inputs, size_t n_inputs,
    const flam_grad_options *options);

/* ---- modes ---------------------------------------------------------------------------------- */

/** Makes every backward pass look for NaN in what each gradient formula returns, and fail with the
 * name of the first that returned one. It waits for the device after each of them. For all threads.
 *
 * - `enabled`: whether to look; not at the start.
 */
FLAM_API void flam_set_detect_anomaly_enabled(flam_bool enabled);

/** Whether backward passes look for NaN.
 *
 * - returns: what `flam_set_detect_anomaly_enabled` set last; false at the start.
 */
FLAM_API flam_bool flam_detect_anomaly_enabled(void);

/** Opens a scope in which operations are recorded or not.
 *
 * - `enabled`: whether to record.
 * - returns: the token for `flam_scope_pop`.
 */
FLAM_API flam_scope flam_grad_mode_push(flam_bool enabled);

/** Opens a scope of inference mode: nothing is recorded, and tensors made in it stay outside
 * autograd.
 *
 * - `enabled`: whether inference mode is on.
 * - returns: the token for `flam_scope_pop`.
 */
FLAM_API flam_scope flam_inference_mode_push(flam_bool enabled);

/** Closes the innermost scope of this thread and restores what it changed.
 *
 * - `scope`: its token.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SCOPE` where `scope` is not this thread's innermost one; nothing changes
 *   then.
 */
FLAM_API flam_status flam_scope_pop(flam_scope scope);

/** Whether this thread records operations.
 *
 * - returns: true unless switched off.
 */
FLAM_API flam_bool flam_grad_enabled(void);

/** Switches recording on this thread on or off, until the scope around it is popped.
 *
 * - `enabled`: whether to record.
 */
FLAM_API void flam_set_grad_enabled(flam_bool enabled);

/** Whether this thread is in inference mode.
 *
 * - returns: false unless switched on.
 */
FLAM_API flam_bool flam_inference_enabled(void);

/* ---- tensors in the graph ------------------------------------------------------------------- */

/** Keeps the gradient of a tensor that is not a leaf, too.
 *
 * - `tensor`: a tensor that requires grad.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_AUTOGRAD` where it does not require grad.
 */
FLAM_API flam_status flam_tensor_retain_grad(flam_tensor *tensor);

/** Whether the gradient of a tensor that is not a leaf is kept.
 *
 * - `tensor`: any tensor.
 * - returns: true after `flam_tensor_retain_grad`; false for leaves.
 */
FLAM_API flam_bool flam_tensor_retains_grad(const flam_tensor *tensor);

/** Takes a tensor out of the graph in place: it becomes a leaf that does not require grad.
 *
 * - `tensor`: any tensor but a view.
 * - returns: `tensor`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a view.
 */
FLAM_BORROWED(tensor)
FLAM_API flam_tensor *flam_tensor_detach_(flam_tensor *tensor);

/** Which of its operation's results a tensor is.
 *
 * - `tensor`: any tensor.
 * - returns: the number, from 0.
 */
FLAM_API int64_t flam_tensor_output_nr(const flam_tensor *tensor);

/** Runs a function on a tensor's gradient whenever backward computes it.
 *
 * - `tensor`: a tensor that requires grad.
 * - `hook`: the function; copied.
 * - returns: the hook, to be removed or released.
 * - errors: `FLAM_ERROR_AUTOGRAD` where the tensor does not require grad; `drop` has been called
 *   then.
 */
FLAM_API flam_hook *flam_tensor_register_hook(flam_tensor *tensor, const flam_hook_callback *hook);

/** Runs a function on a leaf after its gradient was accumulated.
 *
 * - `tensor`: a leaf that requires grad.
 * - `hook`: the function, which sees the leaf itself; copied. Its result is ignored.
 * - returns: the hook, to be removed or released.
 * - errors: `FLAM_ERROR_AUTOGRAD` where it is no leaf or does not require grad; `drop` has been
 *   called then.
 */
FLAM_API flam_hook *flam_tensor_register_post_accumulate_grad_hook(
    flam_tensor *tensor, const flam_hook_callback *hook);

/** Removes a hook: it does not run again. Removing it twice is fine.
 *
 * - `hook`: the hook.
 */
FLAM_API void flam_hook_remove(flam_hook *hook);

/** Releases the handle of a hook, which stays registered. Never fails.
 *
 * - `hook`: the hook, or `NULL`.
 */
FLAM_API void flam_hook_release(FLAM_NULLABLE flam_hook *hook);

/** Names what goes with a thread's work beside the library's own modes, devices and streams.
 *
 * - `state`: the functions; copied. Several may be registered; they are called in that order.
 * - returns: a hook: removing it ends this, releasing it alone leaves the functions registered.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `take` or `give` is missing; `drop` has been called
 *   then.
 */
FLAM_API flam_hook *flam_thread_state_register(const flam_thread_state *state);

/* ---- nodes ---------------------------------------------------------------------------------- */

/** The recorded operation that a tensor came from.
 *
 * - `tensor`: any tensor.
 * - returns: the node, or `NULL` without an error for a leaf.
 * - errors: none but those of a failed operand.
 */
FLAM_API FLAM_NULLABLE flam_node *flam_tensor_grad_fn(const flam_tensor *tensor);

/** Where the gradient of a tensor goes.
 *
 * - `tensor`: any tensor.
 * - returns: the operation that it came from, or for a leaf its `AccumulateGrad`; `NULL` without an
 *   error where it does not require grad. `flam_tensor_output_nr` says which result it is.
 * - errors: none but those of a failed operand.
 */
FLAM_API FLAM_NULLABLE flam_node *flam_tensor_gradient_node(const flam_tensor *tensor);

/** The name of a node.
 *
 * - `node`: a node.
 * - returns: such as `AddBackward0`, or `AccumulateGrad` for a leaf.
 */
FLAM_BORROWED(node)
FLAM_API const char *flam_node_name(const flam_node *node);

/** A number that tells nodes apart: two handles of one node have the same.
 *
 * - `node`: a node.
 * - returns: the number, while the node lives.
 */
FLAM_API uint64_t flam_node_id(const flam_node *node);

/** How many operands a node has.
 *
 * - `node`: a node.
 * - returns: the number; 0 for a leaf.
 */
FLAM_API size_t flam_node_next_count(const flam_node *node);

/** Where the gradient of an operand goes.
 *
 * - `node`: a node.
 * - `index`: which operand, from 0.
 * - returns: the operand's node, or `NULL` without an error where it needs no gradient.
 * - errors: `FLAM_ERROR_INDEX` where there is no such operand.
 */
FLAM_API FLAM_NULLABLE flam_node *flam_node_next(const flam_node *node, size_t index);

/** Which result of its operation an operand is.
 *
 * - `node`: a node.
 * - `index`: which operand, from 0.
 * - returns: the number; 0 where there is no such operand.
 */
FLAM_API int64_t flam_node_next_output_nr(const flam_node *node, size_t index);

/** How many results a node has, those among them that carry no gradient.
 *
 * - `node`: a node.
 * - returns: the number; 1 for a leaf.
 */
FLAM_API size_t flam_node_output_count(const flam_node *node);

/** The place of a result in the graph as a tensor, at which passes begin and end as at the result,
 * also when that is gone or was written in place since: a program keeps the node, not the values.
 *
 * - `node`: a node.
 * - `output_nr`: which result, from 0.
 * - returns: a stand-in with the shape, dtype and device of the result, and zeros for values that
 *   take one element's memory; of a leaf the leaf itself. What stands for a result that is no
 *   tensor (`flam_function_record`) has no dtype, and only passes take it.
 * - errors: `FLAM_ERROR_INDEX` where there is no such result.
 */
FLAM_API flam_tensor *flam_node_output(const flam_node *node, int64_t output_nr);

/** When a node was recorded: of those that are ready, a backward pass runs the one with the highest
 * number first.
 *
 * - `node`: a node.
 * - returns: the number, which counts up on each thread; the highest there is for a leaf.
 */
FLAM_API uint64_t flam_node_sequence_nr(const flam_node *node);

/** Changes when a backward pass runs a node among those that are ready; not while one runs.
 *
 * - `node`: an operation.
 * - `sequence_nr`: as `flam_node_sequence_nr` returns.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf, which always comes first.
 */
FLAM_API flam_status flam_node_set_sequence_nr(flam_node *node, uint64_t sequence_nr);

/** The leaf that an `AccumulateGrad` node stands for.
 *
 * - `node`: a node.
 * - returns: the leaf, or `NULL` without an error for an operation.
 * - errors: none but those of a failed operand.
 */
FLAM_API FLAM_NULLABLE flam_tensor *flam_node_variable(const flam_node *node);

/** What a function of the caller's own was recorded with.
 *
 * - `node`: a node.
 * - returns: `user` of its `flam_function`, or `NULL` without an error for any other operation.
 * - errors: none but those of a failed operand.
 */
FLAM_BORROWED(node)
FLAM_API FLAM_NULLABLE void *flam_node_user(const flam_node *node);

/** Runs a function whenever a backward pass runs a node, before it or after it.
 *
 * - `node`: an operation, or a leaf, whose gradient is accumulated in between.
 * - `hook`: the function; copied.
 * - `before`: whether it runs before the node and sees the gradients of its results; else after it,
 *   with those of its operands (none for a leaf). Default false.
 * - returns: the hook, to be removed or released.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `hook` has no function; `drop` has been called
 *   then.
 */
FLAM_API flam_hook *flam_node_register_hook(
    flam_node *node, const flam_node_hook_callback *hook, flam_bool before FLAM_DEFAULT(0));

/** Releases the handle of a node. Never fails.
 *
 * - `node`: the node, or `NULL`.
 */
FLAM_API void flam_node_release(FLAM_NULLABLE flam_node *node);

/* ---- functions of the caller's own ---------------------------------------------------------- */

/** Options of `flam_function_record`. */
typedef struct flam_function_record_options {
  size_t struct_size; /**< sizeof(flam_function_record_options) */
  /** inputs that were written in place and are among `outputs`; default: none */
  flam_tensor *const *dirty FLAM_DEFAULT(NULL);
  size_t n_dirty;
  /** results that carry no gradient; default: none */
  flam_tensor *const *non_differentiable FLAM_DEFAULT(NULL);
  size_t n_non_differentiable;
} flam_function_record_options;

/** Gives tensors that the caller computed, with recording off, a gradient of the caller's own.
 *
 * - `function`: the gradient; copied.
 * - `inputs`: the operands that gradients flow to; a NULL entry takes none.
 * - `outputs`: the results; a NULL entry is one that is no tensor, whose gradient is always NULL.
 * - returns: the results, in order: new handles of `outputs` (of a view where an input was handed
 *   through or the result is one; one for a tensor given twice), recorded where recording is on and
 *   an input requires grad. Views, but dirty ones, take no write in place that would be recorded.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `function` has no `backward`; `FLAM_ERROR_AUTOGRAD`
 *   for a dirty leaf that requires grad, and for a dirty tensor that is not among `outputs`.
 */
FLAM_API flam_tensor_list *flam_function_record(
    const flam_function *function, FLAM_NULLABLE_ENTRIES flam_tensor *const *inputs,
    size_t n_inputs, FLAM_NULLABLE_ENTRIES flam_tensor *const *outputs, size_t n_outputs,
    const flam_function_record_options *options);

/** Which operands a running `backward` callback should compute gradients for.
 *
 * - `index`: which input, from 0.
 * - returns: whether its gradient is wanted; true outside a callback.
 */
FLAM_API flam_bool flam_function_wanted(size_t index);

/** Keeps a tensor for backward with the version it has.
 *
 * - `tensor`: an operand or a result.
 * - `output_nr`: which result it is, so that no cycle arises; -1 for anything else. Default -1.
 * - returns: the saved value.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_saved *flam_saved_new(const flam_tensor *tensor, int64_t output_nr FLAM_DEFAULT(-1));

/** The tensor that was kept.
 *
 * - `saved`: a saved value.
 * - returns: the tensor, with its history.
 * - errors: `FLAM_ERROR_AUTOGRAD` where it was written in place since, naming the operation that
 *   wrote.
 */
FLAM_API flam_tensor *flam_saved_get(const flam_saved *saved);

/** Releases a saved value. Never fails.
 *
 * - `saved`: the value, or `NULL`.
 */
FLAM_API void flam_saved_release(FLAM_NULLABLE flam_saved *saved);

#ifdef __cplusplus
}
#endif
#endif
