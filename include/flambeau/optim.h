/* Optimizers: fused steps over lists of tensors, optimizers that own their state, schedules,
 * gradient clipping.
 * namespace: capi
 *
 * The order of operations is that of torch.optim. One launch serves up to 56 tensors; nothing
 * waits for the device.
 */
#ifndef FLAMBEAU_OPTIM_H
#define FLAMBEAU_OPTIM_H

#include "flambeau/common.h"
#include "flambeau/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- steps ----------------------------------------------------------------------------------- */

/** One step of stochastic gradient descent over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `momentum_buffers`: one per parameter, in its shape; may be empty without momentum.
 * - `lr`: learning rate.
 * - `momentum`: share of the buffer that stays; default 0.
 * - `dampening`: share of the gradient that is left out of the buffer; default 0.
 * - `weight_decay`: L2 penalty; default 0.
 * - `nesterov`: whether to look ahead; default false.
 * - `maximize`: whether to ascend; default false.
 * - `first_step`: whether the buffers hold nothing: they then become the gradients; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Sutskever et al., 2013, ICML.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_sgd_step(
    const flam_tensor *const *params, size_t n_params, const flam_tensor *const *grads,
    size_t n_grads, const flam_tensor *const *momentum_buffers, size_t n_momentum_buffers,
    double lr, double momentum FLAM_DEFAULT(0), double dampening FLAM_DEFAULT(0),
    double weight_decay FLAM_DEFAULT(0), flam_bool nesterov FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0), flam_bool first_step FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** One step of Adam or AdamW over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `exp_avgs`: running means of the gradients, in the parameters' shapes.
 * - `exp_avg_sqs`: running means of their squares.
 * - `max_exp_avg_sqs`: greatest of those so far, for amsgrad; empty without it.
 * - `steps`: 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1.
 * - `lr`: learning rate.
 * - `beta1`: default 0.9.
 * - `beta2`: default 0.999.
 * - `eps`: added to the denominator; default 1e-8.
 * - `weight_decay`: default 0.
 * - `decoupled`: whether the decay goes past the moments, as in AdamW; default false.
 * - `maximize`: whether to ascend; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Kingma and Ba, 2014, arXiv 1412.6980; Loshchilov and Hutter, 2017, arXiv 1711.05101.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_adam_step(
    const flam_tensor *const *params, size_t n_params, const flam_tensor *const *grads,
    size_t n_grads, const flam_tensor *const *exp_avgs, size_t n_exp_avgs,
    const flam_tensor *const *exp_avg_sqs, size_t n_exp_avg_sqs,
    const flam_tensor *const *max_exp_avg_sqs, size_t n_max_exp_avg_sqs,
    const flam_tensor *const *steps, size_t n_steps, double lr, double beta1 FLAM_DEFAULT(0.9),
    double beta2 FLAM_DEFAULT(0.999), double eps FLAM_DEFAULT(1e-8),
    double weight_decay FLAM_DEFAULT(0), flam_bool decoupled FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** Scales gradients so that their common norm is at most `max_norm`, without waiting for the
 * device.
 *
 * - `params`: parameters; those without a gradient are passed over.
 * - `max_norm`: the bound.
 * - `norm_type`: p of the norm; infinity for the greatest absolute value; default 2.
 * - `error_if_nonfinite`: whether a norm that is not finite is an error, which waits for the
 *   device; default false.
 * - returns: the norm before scaling, 0-d.
 * - errors: `FLAM_ERROR_NON_FINITE` where that was asked for.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_BLOCKS flam_tensor *flam_clip_grad_norm_(
    const flam_tensor *const *params, size_t n_params, double max_norm,
    double norm_type FLAM_DEFAULT(2), flam_bool error_if_nonfinite FLAM_DEFAULT(0));

/* ---- optimizers that own their state --------------------------------------------------------- */

/** Stochastic gradient descent.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1e-3.
 * - `momentum`: default 0.
 * - `dampening`: default 0.
 * - `weight_decay`: default 0.
 * - `nesterov`: default false.
 * - `maximize`: default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_sgd_new(
    const flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-3),
    double momentum FLAM_DEFAULT(0), double dampening FLAM_DEFAULT(0),
    double weight_decay FLAM_DEFAULT(0), flam_bool nesterov FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0));

/** Adam.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1e-3.
 * - `beta1`: default 0.9.
 * - `beta2`: default 0.999.
 * - `eps`: default 1e-8.
 * - `weight_decay`: default 0.
 * - `amsgrad`: default false.
 * - `maximize`: default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_adam_new(
    const flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-3),
    double beta1 FLAM_DEFAULT(0.9), double beta2 FLAM_DEFAULT(0.999), double eps FLAM_DEFAULT(1e-8),
    double weight_decay FLAM_DEFAULT(0), flam_bool amsgrad FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0));

/** Adam with decoupled weight decay.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1e-3.
 * - `beta1`: default 0.9.
 * - `beta2`: default 0.999.
 * - `eps`: default 1e-8.
 * - `weight_decay`: default 1e-2.
 * - `amsgrad`: default false.
 * - `maximize`: default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_adamw_new(
    const flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-3),
    double beta1 FLAM_DEFAULT(0.9), double beta2 FLAM_DEFAULT(0.999), double eps FLAM_DEFAULT(1e-8),
    double weight_decay FLAM_DEFAULT(1e-2), flam_bool amsgrad FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0));

/** Adds parameters with a learning rate and weight decay of their own.
 *
 * - `optimizer`: the optimizer.
 * - `params`: the parameters to change; kept.
 * - `lr`: their learning rate.
 * - `weight_decay`: their weight decay; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where a parameter is there already.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_optimizer_add_group(
    flam_optimizer *optimizer, const flam_tensor *const *params, size_t n_params, double lr,
    double weight_decay FLAM_DEFAULT(0));

/** Changes every parameter that has a gradient.
 *
 * - `optimizer`: the optimizer.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_OUT_OF_DEVICE_MEMORY` for state made at the first step.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_optimizer_step(flam_optimizer *optimizer);

/** Clears the gradients of all its parameters.
 *
 * - `optimizer`: the optimizer.
 * - `set_to_none`: whether to drop them rather than to fill them with zeros; default true.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_optimizer_zero_grad(flam_optimizer *optimizer,
                                                            flam_bool set_to_none FLAM_DEFAULT(1));

/** How many groups there are.
 *
 * - `optimizer`: the optimizer.
 * - returns: the number of groups, at least 1.
 */
FLAM_API FLAM_SINCE(0, 1) size_t flam_optimizer_group_count(const flam_optimizer *optimizer);

/** The learning rate of a group.
 *
 * - `optimizer`: the optimizer.
 * - `group`: its number, from 0; default 0.
 * - returns: the learning rate; NaN where there is no such group.
 */
FLAM_API FLAM_SINCE(0, 1) double flam_optimizer_lr(
    const flam_optimizer *optimizer, size_t group FLAM_DEFAULT(0));

/** Sets the learning rate of a group.
 *
 * - `optimizer`: the optimizer.
 * - `lr`: the new learning rate, not negative.
 * - `group`: its number, from 0; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX`; `FLAM_ERROR_INVALID_ARGUMENT` for a negative rate.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_optimizer_set_lr(flam_optimizer *optimizer, double lr,
                                                         size_t group FLAM_DEFAULT(0));

/** The state of all parameters, named `<parameter>.<state>` with parameters numbered across groups.
 *
 * - `optimizer`: the optimizer.
 * - returns: names and tensors that share memory with the optimizer.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_state *flam_optimizer_state_dict(const flam_optimizer *optimizer);

/** Takes over the state that `flam_optimizer_state_dict` gave; nothing changes where an error is
 * found.
 *
 * - `optimizer`: the optimizer.
 * - `state`: names and tensors, of any device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown name; `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_BLOCKS flam_status flam_optimizer_load_state_dict(
    flam_optimizer *optimizer, const flam_state *state);

/** Drops a reference to an optimizer.
 *
 * - `optimizer`: the optimizer, or `NULL`.
 */
FLAM_API FLAM_SINCE(0, 1) void flam_optimizer_release(FLAM_NULLABLE flam_optimizer *optimizer);

/* ---- schedules ------------------------------------------------------------------------------- */

/** Multiplies the learning rate by `gamma` every `step_size` steps.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `step_size`: steps between changes, at least 1.
 * - `gamma`: the factor; default 0.1.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a step size below 1.
 */
FLAM_API FLAM_SINCE(0, 1) flam_scheduler *flam_step_lr_new(
    flam_optimizer *optimizer, int64_t step_size, double gamma FLAM_DEFAULT(0.1));

/** Lets the learning rate fall along half a cosine.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `t_max`: steps to the least rate, at least 1.
 * - `eta_min`: the least rate; default 0.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for `t_max` below 1.
 * - source: Loshchilov and Hutter, 2016, arXiv 1608.03983.
 */
FLAM_API FLAM_SINCE(0, 1) flam_scheduler *flam_cosine_annealing_lr_new(
    flam_optimizer *optimizer, int64_t t_max, double eta_min FLAM_DEFAULT(0));

/** Goes one step further and sets the learning rates.
 *
 * - `scheduler`: the schedule.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_scheduler_step(flam_scheduler *scheduler);

/** Drops a reference to a schedule.
 *
 * - `scheduler`: the schedule, or `NULL`.
 */
FLAM_API FLAM_SINCE(0, 1) void flam_scheduler_release(FLAM_NULLABLE flam_scheduler *scheduler);

#ifdef __cplusplus
}
#endif
#endif
