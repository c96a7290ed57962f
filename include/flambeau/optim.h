/* Optimizers: fused steps over lists of tensors, optimizers that own their state, gradient
 * clipping.
 * namespace: capi
 *
 * The order of operations is that of torch.optim. One launch serves up to 48 tensors; nothing
 * waits for the device.
 */
#ifndef FLAMBEAU_OPTIM_H
#define FLAMBEAU_OPTIM_H

#include "flambeau/common.h"
#include "flambeau/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The loss, computed anew with its gradients: what optimizers that look more than once call. */
typedef struct flam_closure {
  size_t struct_size; /* sizeof(flam_closure) */
  void *user;         /* handed to the functions below */
  /* Clears the gradients, computes the loss, runs backward, and writes the loss. Returns FLAM_OK,
   * or records with flam_error_set and returns FLAM_ERROR_CALLBACK. */
  flam_status (*call)(void *user, double *out_loss);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_closure;

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
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *momentum_buffers, size_t n_momentum_buffers,
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
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *exp_avgs, size_t n_exp_avgs,
    flam_tensor *const *exp_avg_sqs, size_t n_exp_avg_sqs,
    flam_tensor *const *max_exp_avg_sqs, size_t n_max_exp_avg_sqs,
    flam_tensor *const *steps, size_t n_steps, double lr, double beta1 FLAM_DEFAULT(0.9),
    double beta2 FLAM_DEFAULT(0.999), double eps FLAM_DEFAULT(1e-8),
    double weight_decay FLAM_DEFAULT(0), flam_bool decoupled FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** One step of RMSprop over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `square_avgs`: running means of the squared gradients, in the parameters' shapes.
 * - `momentum_buffers`: one per parameter, in its shape; empty without momentum.
 * - `grad_avgs`: running means of the gradients, for the centered form; empty without it.
 * - `steps`: 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1.
 * - `lr`: learning rate.
 * - `alpha`: share of the mean square that stays; default 0.99.
 * - `eps`: added to the denominator; default 1e-8.
 * - `weight_decay`: L2 penalty; default 0.
 * - `momentum`: share of the buffer that stays; 0 for none; default 0.
 * - `maximize`: whether to ascend; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Hinton, 2012, lecture 6 of Neural Networks for Machine Learning; Graves, 2013, arXiv
 *   1308.0850.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_rmsprop_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *square_avgs, size_t n_square_avgs,
    flam_tensor *const *momentum_buffers, size_t n_momentum_buffers,
    flam_tensor *const *grad_avgs, size_t n_grad_avgs, flam_tensor *const *steps,
    size_t n_steps, double lr, double alpha FLAM_DEFAULT(0.99), double eps FLAM_DEFAULT(1e-8),
    double weight_decay FLAM_DEFAULT(0), double momentum FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** One step of Adagrad over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `sums`: sums of the squared gradients, in the parameters' shapes.
 * - `steps`: 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1.
 * - `lr`: learning rate.
 * - `lr_decay`: what the rate loses per step; default 0.
 * - `weight_decay`: L2 penalty; default 0.
 * - `eps`: added to the denominator; default 1e-10.
 * - `maximize`: whether to ascend; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Duchi, Hazan and Singer, 2011, JMLR 12.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_adagrad_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *sums, size_t n_sums,
    flam_tensor *const *steps, size_t n_steps, double lr,
    double lr_decay FLAM_DEFAULT(0), double weight_decay FLAM_DEFAULT(0),
    double eps FLAM_DEFAULT(1e-10), flam_bool maximize FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** One step of Adadelta over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `square_avgs`: running means of the squared gradients, in the parameters' shapes.
 * - `acc_deltas`: running means of the squared changes.
 * - `steps`: 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1.
 * - `lr`: learning rate.
 * - `rho`: share of the running means that stays; default 0.9.
 * - `eps`: added to the denominator; default 1e-6.
 * - `weight_decay`: L2 penalty; default 0.
 * - `maximize`: whether to ascend; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Zeiler, 2012, arXiv 1212.5701.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_adadelta_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *square_avgs, size_t n_square_avgs,
    flam_tensor *const *acc_deltas, size_t n_acc_deltas,
    flam_tensor *const *steps, size_t n_steps, double lr, double rho FLAM_DEFAULT(0.9),
    double eps FLAM_DEFAULT(1e-6), double weight_decay FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** One step of Adamax, Adam by the infinity norm over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `exp_avgs`: running means of the gradients, in the parameters' shapes.
 * - `exp_infs`: running greatest absolute gradients.
 * - `steps`: 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1.
 * - `lr`: learning rate.
 * - `beta1`: share of the first moment that stays; default 0.9.
 * - `beta2`: share of the second moment that stays; default 0.999.
 * - `eps`: added to the denominator; default 1e-8.
 * - `weight_decay`: L2 penalty; default 0.
 * - `maximize`: whether to ascend; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Kingma and Ba, 2014, arXiv 1412.6980.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_adamax_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *exp_avgs, size_t n_exp_avgs,
    flam_tensor *const *exp_infs, size_t n_exp_infs, flam_tensor *const *steps,
    size_t n_steps, double lr, double beta1 FLAM_DEFAULT(0.9),
    double beta2 FLAM_DEFAULT(0.999), double eps FLAM_DEFAULT(1e-8),
    double weight_decay FLAM_DEFAULT(0), flam_bool maximize FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** One step of NAdam, Adam with Nesterov's momentum over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `exp_avgs`: running means of the gradients, in the parameters' shapes.
 * - `exp_avg_sqs`: running means of their squares.
 * - `mu_products`: 0-d f32 tensors on the parameters' devices: products of all momenta, 1 before
 *   the first step; advanced.
 * - `steps`: 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1.
 * - `lr`: learning rate.
 * - `beta1`: share of the first moment that stays; default 0.9.
 * - `beta2`: share of the second moment that stays; default 0.999.
 * - `eps`: added to the denominator; default 1e-8.
 * - `weight_decay`: L2 penalty; default 0.
 * - `momentum_decay`: how fast the momentum grows to `beta1`; default 4e-3.
 * - `decoupled_weight_decay`: whether the decay goes past the moments; default false.
 * - `maximize`: whether to ascend; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Dozat, 2016, ICLR workshop.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_nadam_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *exp_avgs, size_t n_exp_avgs,
    flam_tensor *const *exp_avg_sqs, size_t n_exp_avg_sqs,
    flam_tensor *const *mu_products, size_t n_mu_products,
    flam_tensor *const *steps, size_t n_steps, double lr,
    double beta1 FLAM_DEFAULT(0.9), double beta2 FLAM_DEFAULT(0.999),
    double eps FLAM_DEFAULT(1e-8), double weight_decay FLAM_DEFAULT(0),
    double momentum_decay FLAM_DEFAULT(4e-3),
    flam_bool decoupled_weight_decay FLAM_DEFAULT(0), flam_bool maximize FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** One step of RAdam, Adam with a rectified rate over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `exp_avgs`: running means of the gradients, in the parameters' shapes.
 * - `exp_avg_sqs`: running means of their squares.
 * - `steps`: 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1.
 * - `lr`: learning rate.
 * - `beta1`: share of the first moment that stays; default 0.9.
 * - `beta2`: share of the second moment that stays; default 0.999.
 * - `eps`: added to the denominator; default 1e-8.
 * - `weight_decay`: L2 penalty; default 0.
 * - `decoupled_weight_decay`: whether the decay goes past the moments; default false.
 * - `maximize`: whether to ascend; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Liu et al., 2019, arXiv 1908.03265.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_radam_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *exp_avgs, size_t n_exp_avgs,
    flam_tensor *const *exp_avg_sqs, size_t n_exp_avg_sqs,
    flam_tensor *const *steps, size_t n_steps, double lr,
    double beta1 FLAM_DEFAULT(0.9), double beta2 FLAM_DEFAULT(0.999),
    double eps FLAM_DEFAULT(1e-8), double weight_decay FLAM_DEFAULT(0),
    flam_bool decoupled_weight_decay FLAM_DEFAULT(0), flam_bool maximize FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** One step of Averaged stochastic gradient descent over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `axs`: averages of the parameters, in their shapes.
 * - `etas`: 0-d f32 tensors on the parameters' devices: the present rates, `lr` before the first
 *   step; advanced.
 * - `mus`: 0-d f32 tensors on the parameters' devices: the present shares in the average, 1 before
 *   the first step; advanced.
 * - `steps`: 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1.
 * - `lr`: learning rate.
 * - `lambd`: decay of the parameters; default 1e-4.
 * - `alpha`: power by which the rate falls; default 0.75.
 * - `t0`: the step from which on parameters are averaged; default 1e6.
 * - `weight_decay`: L2 penalty; default 0.
 * - `maximize`: whether to ascend; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Polyak and Juditsky, 1992, SIAM J. Control Optim. 30.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_asgd_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *axs, size_t n_axs,
    flam_tensor *const *etas, size_t n_etas, flam_tensor *const *mus,
    size_t n_mus, flam_tensor *const *steps, size_t n_steps, double lr,
    double lambd FLAM_DEFAULT(1e-4), double alpha FLAM_DEFAULT(0.75),
    double t0 FLAM_DEFAULT(1e6), double weight_decay FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0),
    FLAM_NULLABLE const flam_tensor *grad_scale FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *found_inf FLAM_DEFAULT(NULL));

/** One step of Resilient backpropagation over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `prevs`: the last gradients, in the parameters' shapes; zeros before the first step.
 * - `step_sizes`: step sizes of all elements; `lr` before the first step.
 * - `steps`: 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1.
 * - `etaminus`: factor of the step size where the sign changes, in (0, 1); default 0.5.
 * - `etaplus`: factor where it stays, above 1; default 1.2.
 * - `step_size_min`: least step size; default 1e-6.
 * - `step_size_max`: greatest step size; default 50.
 * - `maximize`: whether to ascend; default false.
 * - `grad_scale`: 1 element, f32, on the parameters' device: what gradients are divided by; default
 *   1.
 * - `found_inf`: 1 element, f32, on the parameters' device: where it is not 0, the step does
 *   nothing; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Riedmiller and Braun, 1993, ICNN.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_rprop_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, flam_tensor *const *prevs, size_t n_prevs,
    flam_tensor *const *step_sizes, size_t n_step_sizes,
    flam_tensor *const *steps, size_t n_steps, double etaminus FLAM_DEFAULT(0.5),
    double etaplus FLAM_DEFAULT(1.2), double step_size_min FLAM_DEFAULT(1e-6),
    double step_size_max FLAM_DEFAULT(50), flam_bool maximize FLAM_DEFAULT(0),
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
    flam_tensor *const *params, size_t n_params, double max_norm,
    double norm_type FLAM_DEFAULT(2), flam_bool error_if_nonfinite FLAM_DEFAULT(0));

/** Limits every gradient element to [-clip_value, clip_value].
 *
 * - `params`: parameters; those without a gradient are passed over.
 * - `clip_value`: the bound, not negative.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative bound.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_clip_grad_value_(
    flam_tensor *const *params, size_t n_params, double clip_value);

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
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-3),
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
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-3),
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
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-3),
    double beta1 FLAM_DEFAULT(0.9), double beta2 FLAM_DEFAULT(0.999), double eps FLAM_DEFAULT(1e-8),
    double weight_decay FLAM_DEFAULT(1e-2), flam_bool amsgrad FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0));

/** RMSprop.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1e-2.
 * - `alpha`: share of the mean square that stays; default 0.99.
 * - `eps`: added to the denominator; default 1e-8.
 * - `weight_decay`: L2 penalty; default 0.
 * - `momentum`: share of the buffer that stays; 0 for none; default 0.
 * - `centered`: whether the mean gradient is taken off the mean square; default false.
 * - `maximize`: whether to ascend; default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_rmsprop_new(
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-2),
    double alpha FLAM_DEFAULT(0.99), double eps FLAM_DEFAULT(1e-8),
    double weight_decay FLAM_DEFAULT(0), double momentum FLAM_DEFAULT(0),
    flam_bool centered FLAM_DEFAULT(0), flam_bool maximize FLAM_DEFAULT(0));

/** Adagrad.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1e-2.
 * - `lr_decay`: what the rate loses per step; default 0.
 * - `weight_decay`: L2 penalty; default 0.
 * - `initial_accumulator_value`: what the sums begin with; default 0.
 * - `eps`: added to the denominator; default 1e-10.
 * - `maximize`: whether to ascend; default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_adagrad_new(
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-2),
    double lr_decay FLAM_DEFAULT(0), double weight_decay FLAM_DEFAULT(0),
    double initial_accumulator_value FLAM_DEFAULT(0), double eps FLAM_DEFAULT(1e-10),
    flam_bool maximize FLAM_DEFAULT(0));

/** Adadelta.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1.0.
 * - `rho`: share of the running means that stays; default 0.9.
 * - `eps`: added to the denominator; default 1e-6.
 * - `weight_decay`: L2 penalty; default 0.
 * - `maximize`: whether to ascend; default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_adadelta_new(
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1.0),
    double rho FLAM_DEFAULT(0.9), double eps FLAM_DEFAULT(1e-6),
    double weight_decay FLAM_DEFAULT(0), flam_bool maximize FLAM_DEFAULT(0));

/** Adamax, Adam by the infinity norm.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 2e-3.
 * - `beta1`: share of the first moment that stays; default 0.9.
 * - `beta2`: share of the second moment that stays; default 0.999.
 * - `eps`: added to the denominator; default 1e-8.
 * - `weight_decay`: L2 penalty; default 0.
 * - `maximize`: whether to ascend; default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_adamax_new(
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(2e-3),
    double beta1 FLAM_DEFAULT(0.9), double beta2 FLAM_DEFAULT(0.999),
    double eps FLAM_DEFAULT(1e-8), double weight_decay FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0));

/** NAdam, Adam with Nesterov's momentum.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 2e-3.
 * - `beta1`: share of the first moment that stays; default 0.9.
 * - `beta2`: share of the second moment that stays; default 0.999.
 * - `eps`: added to the denominator; default 1e-8.
 * - `weight_decay`: L2 penalty; default 0.
 * - `momentum_decay`: how fast the momentum grows to `beta1`; default 4e-3.
 * - `decoupled_weight_decay`: whether the decay goes past the moments; default false.
 * - `maximize`: whether to ascend; default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_nadam_new(
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(2e-3),
    double beta1 FLAM_DEFAULT(0.9), double beta2 FLAM_DEFAULT(0.999),
    double eps FLAM_DEFAULT(1e-8), double weight_decay FLAM_DEFAULT(0),
    double momentum_decay FLAM_DEFAULT(4e-3),
    flam_bool decoupled_weight_decay FLAM_DEFAULT(0), flam_bool maximize FLAM_DEFAULT(0));

/** RAdam, Adam with a rectified rate.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1e-3.
 * - `beta1`: share of the first moment that stays; default 0.9.
 * - `beta2`: share of the second moment that stays; default 0.999.
 * - `eps`: added to the denominator; default 1e-8.
 * - `weight_decay`: L2 penalty; default 0.
 * - `decoupled_weight_decay`: whether the decay goes past the moments; default false.
 * - `maximize`: whether to ascend; default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_radam_new(
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-3),
    double beta1 FLAM_DEFAULT(0.9), double beta2 FLAM_DEFAULT(0.999),
    double eps FLAM_DEFAULT(1e-8), double weight_decay FLAM_DEFAULT(0),
    flam_bool decoupled_weight_decay FLAM_DEFAULT(0), flam_bool maximize FLAM_DEFAULT(0));

/** Averaged stochastic gradient descent.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1e-2.
 * - `lambd`: decay of the parameters; default 1e-4.
 * - `alpha`: power by which the rate falls; default 0.75.
 * - `t0`: the step from which on parameters are averaged; default 1e6.
 * - `weight_decay`: L2 penalty; default 0.
 * - `maximize`: whether to ascend; default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_asgd_new(
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-2),
    double lambd FLAM_DEFAULT(1e-4), double alpha FLAM_DEFAULT(0.75),
    double t0 FLAM_DEFAULT(1e6), double weight_decay FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0));

/** Resilient backpropagation.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1e-2.
 * - `etaminus`: factor of the step size where the sign changes, in (0, 1); default 0.5.
 * - `etaplus`: factor where it stays, above 1; default 1.2.
 * - `step_size_min`: least step size; default 1e-6.
 * - `step_size_max`: greatest step size; default 50.
 * - `maximize`: whether to ascend; default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_rprop_new(
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1e-2),
    double etaminus FLAM_DEFAULT(0.5), double etaplus FLAM_DEFAULT(1.2),
    double step_size_min FLAM_DEFAULT(1e-6), double step_size_max FLAM_DEFAULT(50),
    flam_bool maximize FLAM_DEFAULT(0));

/** L-BFGS, with or without a line search that holds the strong Wolfe conditions. It steps by
 * `flam_optimizer_step_closure`, and has one group of parameters on one device.
 *
 * - `params`: the parameters to change; kept.
 * - `lr`: learning rate; default 1.
 * - `max_iter`: iterations per step, at most; default 20.
 * - `max_eval`: calls of the closure per step, at most; 0 for 1.25 times `max_iter`; default 0.
 * - `tolerance_grad`: gradients all at most this end a step; default 1e-7.
 * - `tolerance_change`: so does a change of loss or parameters below this; default 1e-9.
 * - `history_size`: how many changes are kept; default 100.
 * - `strong_wolfe`: whether to search along the line; default false.
 * - `maximize`: whether to ascend; default false.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Liu and Nocedal, 1989, Math. Programming 45; Nocedal and Wright, 2006, Numerical
 *   Optimization, chapters 3 and 7.
 */
FLAM_API FLAM_SINCE(0, 1) flam_optimizer *flam_lbfgs_new(
    flam_tensor *const *params, size_t n_params, double lr FLAM_DEFAULT(1),
    int64_t max_iter FLAM_DEFAULT(20), int64_t max_eval FLAM_DEFAULT(0),
    double tolerance_grad FLAM_DEFAULT(1e-7), double tolerance_change FLAM_DEFAULT(1e-9),
    int64_t history_size FLAM_DEFAULT(100), flam_bool strong_wolfe FLAM_DEFAULT(0),
    flam_bool maximize FLAM_DEFAULT(0));

/** Adds parameters with a learning rate and weight decay of their own; the other options begin as
 * those of the first group.
 *
 * - `optimizer`: the optimizer.
 * - `params`: the parameters to change; kept.
 * - `lr`: their learning rate.
 * - `weight_decay`: their weight decay; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where a parameter is there already.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_optimizer_add_group(
    flam_optimizer *optimizer, flam_tensor *const *params, size_t n_params, double lr,
    double weight_decay FLAM_DEFAULT(0));

/** Changes every parameter that has a gradient.
 *
 * - `optimizer`: the optimizer.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_OUT_OF_DEVICE_MEMORY` for state made at the first step;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where the optimizer needs a closure.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_optimizer_step(flam_optimizer *optimizer);

/** Computes the loss and its gradients by a closure, then changes the parameters; L-BFGS calls the
 * closure as often as it needs.
 *
 * - `optimizer`: the optimizer.
 * - `closure`: computes the loss; copied. `drop` has been called when this returns.
 * - `out_loss`: the loss of the first call.
 * - returns: `FLAM_OK`.
 * - errors: what the closure failed with; those of `flam_optimizer_step`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_BLOCKS flam_status flam_optimizer_step_closure(
    flam_optimizer *optimizer, const flam_closure *closure, double *out_loss);

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

/** An option of a group, by the name that torch.optim gives it; `beta1` and `beta2` for `betas`,
 * `etaminus` and `etaplus` for `etas`, `step_size_min` and `step_size_max` for `step_sizes`.
 *
 * - `optimizer`: the optimizer.
 * - `name`: the option's name.
 * - `group`: its number, from 0; default 0.
 * - `out_value`: its value, 0 or 1 for a switch.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX`; `FLAM_ERROR_INVALID_ARGUMENT` for an unknown name.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_optimizer_option(
    const flam_optimizer *optimizer, const char *name, size_t group FLAM_DEFAULT(0),
    double *out_value);

/** Sets an option of a group, by the name that `flam_optimizer_option` knows it by.
 *
 * - `optimizer`: the optimizer.
 * - `name`: the option's name.
 * - `value`: its new value, 0 or 1 for a switch.
 * - `group`: its number, from 0; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX`; `FLAM_ERROR_INVALID_ARGUMENT` for an unknown name or a value out of
 *   range.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_optimizer_set_option(
    flam_optimizer *optimizer, const char *name, double value, size_t group FLAM_DEFAULT(0));

/** The state of all parameters, named `<parameter>.<state>` with parameters numbered across groups,
 * and the options of all groups, named `groups.<group>.<option>`.
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

#ifdef __cplusplus
}
#endif
#endif
