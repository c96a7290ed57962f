/* Mixed precision: autocast, which chooses the dtype of every operation, and gradient scaling,
 * which keeps small gradients above the least f16 number.
 * namespace: capi
 *
 * Autocast is thread-local and known for two kinds of device: the cpu, and GPUs (cuda and sim).
 * What it does to an operation is PyTorch's; the declarations say it (`FLAM_AUTOCAST`). A training
 * step with gradient scaling never waits for the device.
 */
#ifndef FLAMBEAU_AMP_H
#define FLAMBEAU_AMP_H

#include "flambeau/common.h"
#include "flambeau/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A factor on losses that adapts to the gradients' range. */
typedef struct flam_grad_scaler flam_grad_scaler;

/* ---- autocast -------------------------------------------------------------------------------- */

/** Options of `flam_autocast_push`. */
typedef struct flam_autocast_push_options {
  size_t struct_size; /**< sizeof(flam_autocast_push_options) */
  /** of the operations that gain by it: f16, bf16 or f32; default: bf16 on the cpu, f16 on GPUs,
   *  or what `flam_set_autocast_dtype` chose */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_bool enabled FLAM_DEFAULT(1); /**< whether autocast is on inside; default true */
  /** whether a parameter that is used again keeps its cast until the outermost scope closes;
   *  default true */
  flam_bool cache_enabled FLAM_DEFAULT(1);
  int32_t reserved; /**< 0 */
} flam_autocast_push_options;

/** Opens a scope in which operations on a kind of device choose their dtype.
 *
 * - `device_type`: `FLAM_CPU`, `FLAM_CUDA` or `FLAM_SIM`.
 * - `out_scope`: the token for `flam_scope_pop`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another kind of device; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_status flam_autocast_push(
    flam_device_type device_type, flam_scope *out_scope, const flam_autocast_push_options *options);

/** Switches autocast of a kind of device on this thread, until the scope around it is popped.
 *
 * - `device_type`: `FLAM_CPU`, `FLAM_CUDA` or `FLAM_SIM`.
 * - `enabled`: whether it is on.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another kind of device.
 */
FLAM_API flam_status flam_set_autocast_enabled(flam_device_type device_type, flam_bool enabled);

/** Sets the dtype of autocast of a kind of device on this thread, until the scope around it is
 * popped.
 *
 * - `device_type`: `FLAM_CPU`, `FLAM_CUDA` or `FLAM_SIM`.
 * - `dtype`: of the operations that gain by it: f16, bf16 or f32.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another kind of device; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_status flam_set_autocast_dtype(flam_device_type device_type, flam_dtype dtype);

/** Whether autocast of a kind of device is on in this thread.
 *
 * - `device_type`: the kind of device.
 * - returns: false unless switched on, and for a kind of device without autocast.
 */
FLAM_API flam_bool flam_autocast_enabled(flam_device_type device_type);

/** The dtype that autocast of a kind of device would use in this thread.
 *
 * - `device_type`: the kind of device.
 * - returns: the dtype; none for a kind of device without autocast.
 */
FLAM_API flam_dtype flam_autocast_dtype(flam_device_type device_type);

/** Whether this thread keeps casts of parameters.
 *
 * - returns: true unless switched off.
 */
FLAM_API flam_bool flam_autocast_cache_enabled(void);

/** Switches the keeping of casts on this thread, until the scope around it is popped.
 *
 * - `enabled`: whether casts are kept.
 */
FLAM_API void flam_set_autocast_cache_enabled(flam_bool enabled);

/** Drops the casts that this thread keeps. */
FLAM_API void flam_autocast_clear_cache(void);

/* ---- gradient scaling ------------------------------------------------------------------------ */

/** Options of `flam_grad_scaler_new`. */
typedef struct flam_grad_scaler_options {
  size_t struct_size; /**< sizeof(flam_grad_scaler_options) */
  double init_scale FLAM_DEFAULT(65536); /**< the first factor; default 65536 */
  /** what the factor is multiplied by after `growth_interval` steps with finite gradients, above
   *  1; default 2 */
  double growth_factor FLAM_DEFAULT(2);
  /** what it is multiplied by after gradients that were not finite, below 1; default 0.5 */
  double backoff_factor FLAM_DEFAULT(0.5);
  int64_t growth_interval FLAM_DEFAULT(2000); /**< steps; default 2000 */
  /** false: losses stay as they are, and a step is the optimizer's; default true */
  flam_bool enabled FLAM_DEFAULT(1);
  int32_t reserved; /**< 0 */
} flam_grad_scaler_options;

/** A scale for losses. Its cells are made on the device of the first loss.
 *
 * - returns: the scaler.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a factor out of range.
 * - source: Micikevicius et al., 2017, arXiv 1710.03740.
 */
FLAM_API flam_grad_scaler *flam_grad_scaler_new(const flam_grad_scaler_options *options);

/** Multiplies a loss by the factor.
 *
 * - `scaler`: the scaler.
 * - `loss`: any floating tensor.
 * - returns: the product; `loss` itself where the scaler is not enabled.
 * - errors: `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API flam_tensor *flam_grad_scaler_scale(flam_grad_scaler *scaler, const flam_tensor *loss);

/** Divides an optimizer's gradients by the factor, so that they can be clipped before the step.
 *
 * - `scaler`: the scaler.
 * - `optimizer`: whose gradients change in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` a second time before `flam_grad_scaler_update`, before
 *   any loss was scaled, and for f16 gradients.
 */
FLAM_API flam_status flam_grad_scaler_unscale(flam_grad_scaler *scaler, flam_optimizer *optimizer);

/** Steps an optimizer, unless one of its gradients is not finite; divides them by the factor where
 * that was not done. The device decides, and nothing waits for it.
 *
 * - `scaler`: the scaler.
 * - `optimizer`: the optimizer.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_grad_scaler_unscale`; `FLAM_ERROR_INVALID_ARGUMENT` where no parameter has a
 *   gradient.
 */
FLAM_API flam_status flam_grad_scaler_step(flam_grad_scaler *scaler, flam_optimizer *optimizer);

/** Whether the latest step of an optimizer was skipped, and whose gradient was to blame. Waits for
 * the device.
 *
 * - `scaler`: the scaler.
 * - `optimizer`: an optimizer that was stepped or unscaled since the update before the last one.
 * - `out_skipped`: whether a gradient was not finite.
 * - `out_parameter`: the first parameter with such a gradient, numbered across groups; -1: none.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where nothing is known of the optimizer.
 */
FLAM_API FLAM_BLOCKS flam_status flam_grad_scaler_skipped(
    const flam_grad_scaler *scaler, const flam_optimizer *optimizer, flam_bool *out_skipped,
    int64_t *out_parameter);

/** Adapts the factor to the steps since the last update.
 *
 * - `scaler`: the scaler.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where nothing was stepped or unscaled.
 */
FLAM_API flam_status flam_grad_scaler_update(flam_grad_scaler *scaler);

/** The factor. Waits for the device.
 *
 * - `scaler`: the scaler.
 * - `out_scale`: the factor; 1 where the scaler is not enabled.
 * - returns: `FLAM_OK`.
 * - errors: those of the device.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_grad_scaler_get_scale(const flam_grad_scaler *scaler, double *out_scale);

/** The factor as the cell that steps read: what is written into it is the factor from then on.
 *
 * - `scaler`: the scaler.
 * - returns: 0-d f32 on the device of the first loss; `NULL` without an error before that.
 * - errors: none but those of a failed operand.
 */
FLAM_API FLAM_NULLABLE flam_tensor *flam_grad_scaler_cell(const flam_grad_scaler *scaler);

/** Sets the factor, in place of an update.
 *
 * - `scaler`: the scaler.
 * - `scale`: the factor.
 * - returns: `FLAM_OK`.
 * - errors: those of the device.
 */
FLAM_API flam_status flam_grad_scaler_set_scale(flam_grad_scaler *scaler, double scale);

/** Changes how the factor adapts.
 *
 * - `scaler`: the scaler.
 * - `growth_factor`: above 1.
 * - `backoff_factor`: below 1.
 * - `growth_interval`: steps.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a factor out of range.
 */
FLAM_API flam_status flam_grad_scaler_configure(
    flam_grad_scaler *scaler, double growth_factor, double backoff_factor, int64_t growth_interval);

/** Whether a scaler does anything.
 *
 * - `scaler`: the scaler.
 * - returns: as it was made.
 */
FLAM_API flam_bool flam_grad_scaler_enabled(const flam_grad_scaler *scaler);

/** What a scaler needs to go on later: `scale`, `growth_factor`, `backoff_factor` (f64),
 * `growth_interval` and `_growth_tracker` (i64), 0-d on the cpu. Waits for the device.
 *
 * - `scaler`: the scaler.
 * - returns: the state.
 * - errors: those of the device.
 */
FLAM_API FLAM_BLOCKS flam_state *flam_grad_scaler_state_dict(const flam_grad_scaler *scaler);

/** Takes over the state that `flam_grad_scaler_state_dict` gave.
 *
 * - `scaler`: the scaler.
 * - `state`: the state.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a missing entry or a factor out of range; nothing
 *   changes then.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_grad_scaler_load_state_dict(flam_grad_scaler *scaler, const flam_state *state);

/** Drops a reference to a scaler.
 *
 * - `scaler`: the scaler, or `NULL`.
 */
FLAM_API void flam_grad_scaler_release(FLAM_NULLABLE flam_grad_scaler *scaler);

/* ---- gradient scaling for optimizers of the caller's own ------------------------------------- */

/** `flam_grad_scaler_unscale` for parameters that the caller steps.
 *
 * - `scaler`: the scaler.
 * - `owner`: a number that stands for the caller's optimizer.
 * - `params`: its parameters; those without a gradient are passed over.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_grad_scaler_unscale`.
 */
FLAM_API flam_status flam_grad_scaler_unscale_params(
    flam_grad_scaler *scaler, uint64_t owner, flam_tensor *const *params, size_t n_params);

/** What comes before the caller's own step: `flam_grad_scaler_unscale_params` where that was not
 * done. The step takes `flam_grad_scaler_found_inf` along.
 *
 * - `scaler`: the scaler.
 * - `owner`: a number that stands for the caller's optimizer.
 * - `params`: its parameters.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_grad_scaler_step`.
 */
FLAM_API flam_status flam_grad_scaler_begin_step(
    flam_grad_scaler *scaler, uint64_t owner, flam_tensor *const *params, size_t n_params);

/** Whether gradients were not finite, as a cell on the device for the fused steps.
 *
 * - `scaler`: the scaler.
 * - `owner`: a number that stands for the caller's optimizer.
 * - `device`: where parameters are.
 * - returns: 0-d f32: 0, or 1 where a gradient on any device was not finite.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where nothing is known of the owner.
 */
FLAM_API flam_tensor *flam_grad_scaler_found_inf(
    const flam_grad_scaler *scaler, uint64_t owner, flam_device device);

/** `flam_grad_scaler_skipped` for parameters that the caller steps. Waits for the device.
 *
 * - `scaler`: the scaler.
 * - `owner`: a number that stands for the caller's optimizer.
 * - `out_skipped`: whether a gradient was not finite.
 * - `out_parameter`: the first parameter with such a gradient, by its place in the list; -1: none.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where nothing is known of the owner.
 */
FLAM_API FLAM_BLOCKS flam_status flam_grad_scaler_owner_skipped(
    const flam_grad_scaler *scaler, uint64_t owner, flam_bool *out_skipped, int64_t *out_parameter);

#ifdef __cplusplus
}
#endif
#endif
