/* Modules: trees of named parameters, buffers and children, with a forward function.
 * namespace: capi
 *
 * A host language's own module is made by `flam_module_new` with a vtable, and joins the same tree
 * as the library's layers (layers.h). Moving a module changes its tensors in place: handles stay
 * valid.
 */
#ifndef FLAMBEAU_MODULE_H
#define FLAMBEAU_MODULE_H

#include "flambeau/autograd.h"
#include "flambeau/common.h"
#include "flambeau/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a module written in a host language provides. Its functions may be NULL. */
typedef struct flam_module_vtable {
  size_t struct_size; /* sizeof(flam_module_vtable) */
  void *user; /* handed to the functions below */
  /* Writes one owned tensor; on failure calls flam_error_set and returns FLAM_ERROR_CALLBACK. */
  flam_status (*forward)(
      void *user, flam_tensor *const *inputs, size_t n_inputs, flam_tensor **out_result);
  void (*drop)(void *user); /* called exactly once, on any thread, when the module dies */
} flam_module_vtable;

/** A module without content.
 *
 * - `type`: its class name, as `flam_module_format` and error texts show it.
 * - `vtable`: its forward function; copied. None (the default) for a mere container of parameters.
 *   `drop` is called also where this call fails.
 * - returns: the module, in training mode.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a vtable of unknown size.
 */
FLAM_API flam_module *flam_module_new(
    const char *type, FLAM_NULLABLE const flam_module_vtable *vtable FLAM_DEFAULT(NULL));

/** Drops a reference to a module.
 *
 * - `module`: the module, or `NULL`.
 */
FLAM_API void flam_module_release(FLAM_NULLABLE flam_module *module);

/** A module's class name.
 *
 * - `module`: the module.
 * - returns: the name, valid as long as the module.
 */
FLAM_BORROWED(module)
FLAM_API const char *flam_module_type(const flam_module *module);

/** Where a module stands, as errors say it: `encoder.layers.0` from its outermost parent.
 *
 * - `module`: the module.
 * - returns: the path, valid as long as the module; empty for a module that has no parent.
 */
FLAM_BORROWED(module)
FLAM_API const char *flam_module_path(const flam_module *module);

/** Registers a parameter, or replaces the one of that name.
 *
 * - `module`: the module.
 * - `name`: not empty, without a dot, no name of a buffer or child.
 * - `tensor`: the parameter, or none to reserve the name; default none.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a bad or taken name.
 */
FLAM_API flam_status flam_module_set_parameter(
    flam_module *module, const char *name,
    FLAM_NULLABLE const flam_tensor *tensor FLAM_DEFAULT(NULL));

/** Says where a tensor stands that the module does not own: errors name it by the module's path, as
 * they do parameters. It is neither kept alive nor moved, saved or trained; for a program that has
 * a tree of its own.
 *
 * - `module`: the module.
 * - `name`: not empty, without a dot, no name of a buffer or child.
 * - `tensor`: the parameter.
 * - returns: `FLAM_OK`; `flam_module_remove` takes the name back.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a bad or taken name.
 */
FLAM_API flam_status
flam_module_name_parameter(flam_module *module, const char *name, const flam_tensor *tensor);

/** Registers a buffer, or replaces the one of that name.
 *
 * - `module`: the module.
 * - `name`: not empty, without a dot, no name of a parameter or child.
 * - `tensor`: the buffer, or none; default none.
 * - `persistent`: whether state dicts hold it; default true.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a bad or taken name.
 */
FLAM_API flam_status flam_module_set_buffer(
    flam_module *module, const char *name,
    FLAM_NULLABLE const flam_tensor *tensor FLAM_DEFAULT(NULL),
    flam_bool persistent FLAM_DEFAULT(1));

/** Registers a child, or replaces the one of that name.
 *
 * - `module`: the module.
 * - `name`: not empty, without a dot, no name of a parameter or buffer.
 * - `child`: the child, or none; default none.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a bad or taken name, or a child that holds `module`.
 */
FLAM_API flam_status flam_module_set_child(
    flam_module *module, const char *name, FLAM_NULLABLE flam_module *child FLAM_DEFAULT(NULL));

/** Removes a parameter, buffer or child.
 *
 * - `module`: the module.
 * - `name`: its name.
 * - returns: `FLAM_OK`, also where nothing has that name.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status flam_module_remove(flam_module *module, const char *name);

/** A parameter by its path.
 *
 * - `module`: the root.
 * - `path`: names joined by dots: `0.weight`.
 * - returns: the parameter.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is none, with the names there are.
 */
FLAM_API flam_tensor *flam_module_parameter(const flam_module *module, const char *path);

/** A buffer by its path.
 *
 * - `module`: the root.
 * - `path`: names joined by dots: `1.running_mean`.
 * - returns: the buffer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is none, with the names there are.
 */
FLAM_API flam_tensor *flam_module_buffer(const flam_module *module, const char *path);

/** A descendant by its path.
 *
 * - `module`: the root.
 * - `path`: names joined by dots; the empty string is the root itself.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is none, with the names there are.
 */
FLAM_API flam_module *flam_module_child(const flam_module *module, const char *path);

/** How many children a module has itself.
 *
 * - `module`: the module.
 * - returns: the number of children.
 */
FLAM_API size_t flam_module_child_count(const flam_module *module);

/** The name of a child.
 *
 * - `module`: the module.
 * - `index`: position, from 0.
 * - returns: the name, valid until the module changes; NULL where `index` is out of range.
 */
FLAM_BORROWED(module)
FLAM_API const char *flam_module_child_name(const flam_module *module, size_t index);

/** All parameters, of descendants too, each once: what an optimizer takes.
 *
 * - `module`: the module.
 * - returns: the parameters, in the order of `flam_module_named_parameters`.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_tensor_list *flam_module_parameters(const flam_module *module);

/** All parameters with their paths, each tensor once.
 *
 * - `module`: the root.
 * - `recurse`: whether to include those of descendants; default true.
 * - returns: paths and tensors, in order of registration.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_state *flam_module_named_parameters(
    const flam_module *module, flam_bool recurse FLAM_DEFAULT(1));

/** All buffers with their paths, each tensor once.
 *
 * - `module`: the root.
 * - `recurse`: whether to include those of descendants; default true.
 * - returns: paths and tensors, in order of registration.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_state *flam_module_named_buffers(
    const flam_module *module, flam_bool recurse FLAM_DEFAULT(1));

/** Parameters and persistent buffers with their paths, detached: what a checkpoint holds.
 *
 * - `module`: the root.
 * - returns: paths and tensors that share memory with the module.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_state *flam_module_state_dict(const flam_module *module);

/** Copies values into a module's parameters and buffers; nothing is written where an error is
 * found.
 *
 * - `module`: the root.
 * - `state`: paths and tensors of any device and dtype.
 * - `strict`: whether missing and unexpected names are errors; default true.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` listing missing, unexpected and mismatched entries.
 */
FLAM_API FLAM_BLOCKS flam_status flam_module_load_state_dict(
    flam_module *module, const flam_state *state, flam_bool strict FLAM_DEFAULT(1));

/** Options of `flam_module_to`. */
typedef struct flam_module_to_options {
  size_t struct_size; /**< sizeof(flam_module_to_options) */
  /** whether copies from pinned memory may still run on return; default false */
  flam_bool non_blocking FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_module_to_options;

/** Moves or converts all parameters and buffers, in place; gradients too. Integers keep their
 * dtype.
 *
 * - `module`: the root.
 * - `device`: where to; default: where they are.
 * - `dtype`: floating point; default: unchanged.
 * - returns: `FLAM_OK`; on failure nothing has moved.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device, `FLAM_ERROR_NO_GPU` where
 *   there is no GPU; `FLAM_ERROR_DTYPE` where `dtype` is not floating point.
 */
FLAM_API FLAM_BLOCKS flam_status flam_module_to(
    flam_module *module, flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE),
    flam_device device FLAM_DEFAULT(0), const flam_module_to_options *options);

/** Sets training or evaluation mode for a module and its descendants.
 *
 * - `module`: the root.
 * - `mode`: true for training; default true.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status flam_module_train(flam_module *module, flam_bool mode FLAM_DEFAULT(1));

/** Whether a module is in training mode.
 *
 * - `module`: the module.
 * - returns: true in training mode.
 */
FLAM_API flam_bool flam_module_is_training(const flam_module *module);

/** Whether a call of a module may write to buffers, such as running statistics: whether one of its
 * tree is in training mode and has some. Other calls may run at once on several threads.
 *
 * - `module`: the root.
 * - returns: true where a call may write.
 */
FLAM_API flam_bool flam_module_updates_buffers(const flam_module *module);

/** Clears the gradients of all parameters.
 *
 * - `module`: the root.
 * - `set_to_none`: whether to drop gradients rather than to fill them with zeros; default true.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status
flam_module_zero_grad(flam_module *module, flam_bool set_to_none FLAM_DEFAULT(1));

/** Sets whether autograd records operations on the parameters.
 *
 * - `module`: the root.
 * - `requires_grad`: whether they take part in backward.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` for a parameter that is not floating point.
 */
FLAM_API flam_status flam_module_set_requires_grad(flam_module *module, flam_bool requires_grad);

/** Opens a scope in which memory is labelled with a module, as `flam_module_call` does by itself:
 * out-of-memory errors and snapshots name it by its path. For host languages that run modules.
 *
 * - `module`: the module that runs.
 * - returns: the token for `flam_scope_pop`.
 */
FLAM_API flam_scope flam_module_push(const flam_module *module);

/** Runs a module on one input, hooks included.
 *
 * - `module`: the module.
 * - `input`: its input.
 * - returns: its output.
 * - errors: those of its operations; the module's path is among the facts.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_module_call(flam_module *module, const flam_tensor *input);

/** Runs a module on several inputs, hooks included.
 *
 * - `module`: the module.
 * - `inputs`: its inputs, in order; `NULL` for an optional one, as a mask, that is not given.
 * - returns: its output.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for `NULL` where a layer needs an input, naming it; those
 *   of its operations; the module's path is among the facts.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_module_forward(
    flam_module *module, FLAM_NULLABLE_ENTRIES flam_tensor *const *inputs, size_t n_inputs);

/** When a hook runs. */
typedef int32_t flam_hook_moment;
enum { FLAM_HOOK_UNSPECIFIED = 0, FLAM_HOOK_FORWARD_PRE = 1, FLAM_HOOK_FORWARD = 2 };

/** A function around a module's forward: sees the input (pre) or input and output; may replace
 *  them. */
typedef struct flam_module_hook_callback {
  size_t struct_size; /* sizeof(flam_module_hook_callback) */
  void *user; /* handed to the functions below */
  /* `output` is NULL before the forward; *out_replacement stays NULL to keep the input or output.
   */
  flam_status (*call)(
      void *user, const flam_tensor *input, const flam_tensor *output,
      flam_tensor **out_replacement);
  void (*drop)(void *user); /* called exactly once */
} flam_module_hook_callback;

/** Runs a function around every forward of a module.
 *
 * - `module`: the module.
 * - `moment`: before or after the forward function.
 * - `hook`: the function; copied. `drop` is called exactly once, also where this call fails.
 * - returns: the hook, to be removed or released.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown moment or struct size, or no function.
 */
FLAM_API flam_hook *flam_module_register_hook(
    flam_module *module, flam_hook_moment moment, const flam_module_hook_callback *hook);

/** A module as PyTorch prints it.
 *
 * - `module`: the root.
 * - returns: UTF-8, valid until the thread's next call that returns a text.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_module_format(const flam_module *module);

/** The sum of all parameters' elements.
 *
 * - `module`: the root.
 * - returns: the number of elements, shared parameters once.
 */
FLAM_API int64_t flam_module_numel(const flam_module *module);

#ifdef __cplusplus
}
#endif
#endif
