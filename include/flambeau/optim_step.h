/* Fused steps of optimizers over lists of tensors that the caller keeps: parameters, gradients and
 * the state that belongs to them.
 * namespace: capi
 *
 * The order of operations is that of torch.optim. One launch serves up to 48 tensors; nothing waits
 * for the device.
 */
#ifndef FLAMBEAU_OPTIM_STEP_H
#define FLAMBEAU_OPTIM_STEP_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** State and options of `flam_sgd_step`. */
typedef struct flam_sgd_step_options {
  size_t struct_size; /**< sizeof(flam_sgd_step_options) */
  /** one per parameter, in its shape; may be empty without momentum; default none */
  flam_tensor *const *momentum_buffers FLAM_DEFAULT(NULL);
  size_t n_momentum_buffers;
  double momentum FLAM_DEFAULT(0); /**< share of the buffer that stays; default 0 */
  /** share of the gradient that is left out of the buffer; default 0 */
  double dampening FLAM_DEFAULT(0);
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  flam_bool nesterov FLAM_DEFAULT(0); /**< whether to look ahead; default false */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** whether the buffers hold nothing: they then become the gradients; default false */
  flam_bool first_step FLAM_DEFAULT(0);
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_sgd_step_options;

/** One step of stochastic gradient descent over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `lr`: learning rate.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Sutskever et al., 2013, ICML.
 */
FLAM_API flam_status flam_sgd_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    double lr FLAM_AFTER(momentum_buffers), const flam_sgd_step_options *options);

/** State and options of `flam_adam_step`. */
typedef struct flam_adam_step_options {
  size_t struct_size; /**< sizeof(flam_adam_step_options) */
  /** running means of the gradients, in the parameters' shapes; default none */
  flam_tensor *const *exp_avgs FLAM_DEFAULT(NULL);
  size_t n_exp_avgs;
  /** running means of their squares; default none */
  flam_tensor *const *exp_avg_sqs FLAM_DEFAULT(NULL);
  size_t n_exp_avg_sqs;
  /** greatest of those so far, for amsgrad; empty without it; default none */
  flam_tensor *const *max_exp_avg_sqs FLAM_DEFAULT(NULL);
  size_t n_max_exp_avg_sqs;
  /** 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1; default
   *  none */
  flam_tensor *const *steps FLAM_DEFAULT(NULL);
  size_t n_steps;
  double beta1 FLAM_DEFAULT(0.9); /**< default 0.9 */
  double beta2 FLAM_DEFAULT(0.999); /**< default 0.999 */
  double eps FLAM_DEFAULT(1e-8); /**< added to the denominator; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< default 0 */
  /** whether the decay goes past the moments, as in AdamW; default false */
  flam_bool decoupled FLAM_DEFAULT(0);
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_adam_step_options;

/** One step of Adam or AdamW over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `lr`: learning rate.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Kingma and Ba, 2014, arXiv 1412.6980; Loshchilov and Hutter, 2017, arXiv 1711.05101.
 */
FLAM_API flam_status flam_adam_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    double lr FLAM_AFTER(steps), const flam_adam_step_options *options);

/** State and options of `flam_rmsprop_step`. */
typedef struct flam_rmsprop_step_options {
  size_t struct_size; /**< sizeof(flam_rmsprop_step_options) */
  /** running means of the squared gradients, in the parameters' shapes; default none */
  flam_tensor *const *square_avgs FLAM_DEFAULT(NULL);
  size_t n_square_avgs;
  /** one per parameter, in its shape; empty without momentum; default none */
  flam_tensor *const *momentum_buffers FLAM_DEFAULT(NULL);
  size_t n_momentum_buffers;
  /** running means of the gradients, for the centered form; empty without it; default none */
  flam_tensor *const *grad_avgs FLAM_DEFAULT(NULL);
  size_t n_grad_avgs;
  /** 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1; default
   *  none */
  flam_tensor *const *steps FLAM_DEFAULT(NULL);
  size_t n_steps;
  double alpha FLAM_DEFAULT(0.99); /**< share of the mean square that stays; default 0.99 */
  double eps FLAM_DEFAULT(1e-8); /**< added to the denominator; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  double momentum FLAM_DEFAULT(0); /**< share of the buffer that stays; 0 for none; default 0 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_rmsprop_step_options;

/** One step of RMSprop over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `lr`: learning rate.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Hinton, 2012, lecture 6 of Neural Networks for Machine Learning; Graves, 2013, arXiv
 *   1308.0850.
 */
FLAM_API flam_status flam_rmsprop_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    double lr FLAM_AFTER(steps), const flam_rmsprop_step_options *options);

/** State and options of `flam_adagrad_step`. */
typedef struct flam_adagrad_step_options {
  size_t struct_size; /**< sizeof(flam_adagrad_step_options) */
  /** sums of the squared gradients, in the parameters' shapes; default none */
  flam_tensor *const *sums FLAM_DEFAULT(NULL);
  size_t n_sums;
  /** 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1; default
   *  none */
  flam_tensor *const *steps FLAM_DEFAULT(NULL);
  size_t n_steps;
  double lr_decay FLAM_DEFAULT(0); /**< what the rate loses per step; default 0 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  double eps FLAM_DEFAULT(1e-10); /**< added to the denominator; default 1e-10 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_adagrad_step_options;

/** One step of Adagrad over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `lr`: learning rate.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Duchi, Hazan and Singer, 2011, JMLR 12.
 */
FLAM_API flam_status flam_adagrad_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    double lr FLAM_AFTER(steps), const flam_adagrad_step_options *options);

/** State and options of `flam_adadelta_step`. */
typedef struct flam_adadelta_step_options {
  size_t struct_size; /**< sizeof(flam_adadelta_step_options) */
  /** running means of the squared gradients, in the parameters' shapes; default none */
  flam_tensor *const *square_avgs FLAM_DEFAULT(NULL);
  size_t n_square_avgs;
  /** running means of the squared changes; default none */
  flam_tensor *const *acc_deltas FLAM_DEFAULT(NULL);
  size_t n_acc_deltas;
  /** 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1; default
   *  none */
  flam_tensor *const *steps FLAM_DEFAULT(NULL);
  size_t n_steps;
  double rho FLAM_DEFAULT(0.9); /**< share of the running means that stays; default 0.9 */
  double eps FLAM_DEFAULT(1e-6); /**< added to the denominator; default 1e-6 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_adadelta_step_options;

/** One step of Adadelta over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `lr`: learning rate.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Zeiler, 2012, arXiv 1212.5701.
 */
FLAM_API flam_status flam_adadelta_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    double lr FLAM_AFTER(steps), const flam_adadelta_step_options *options);

/** State and options of `flam_adamax_step`. */
typedef struct flam_adamax_step_options {
  size_t struct_size; /**< sizeof(flam_adamax_step_options) */
  /** running means of the gradients, in the parameters' shapes; default none */
  flam_tensor *const *exp_avgs FLAM_DEFAULT(NULL);
  size_t n_exp_avgs;
  /** running greatest absolute gradients; default none */
  flam_tensor *const *exp_infs FLAM_DEFAULT(NULL);
  size_t n_exp_infs;
  /** 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1; default
   *  none */
  flam_tensor *const *steps FLAM_DEFAULT(NULL);
  size_t n_steps;
  double beta1 FLAM_DEFAULT(0.9); /**< share of the first moment that stays; default 0.9 */
  double beta2 FLAM_DEFAULT(0.999); /**< share of the second moment that stays; default 0.999 */
  double eps FLAM_DEFAULT(1e-8); /**< added to the denominator; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_adamax_step_options;

/** One step of Adamax, Adam by the infinity norm over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `lr`: learning rate.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Kingma and Ba, 2014, arXiv 1412.6980.
 */
FLAM_API flam_status flam_adamax_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    double lr FLAM_AFTER(steps), const flam_adamax_step_options *options);

/** State and options of `flam_nadam_step`. */
typedef struct flam_nadam_step_options {
  size_t struct_size; /**< sizeof(flam_nadam_step_options) */
  /** running means of the gradients, in the parameters' shapes; default none */
  flam_tensor *const *exp_avgs FLAM_DEFAULT(NULL);
  size_t n_exp_avgs;
  /** running means of their squares; default none */
  flam_tensor *const *exp_avg_sqs FLAM_DEFAULT(NULL);
  size_t n_exp_avg_sqs;
  /** 0-d f32 tensors on the parameters' devices: products of all momenta, 1 before the first
   *  step; advanced; default none */
  flam_tensor *const *mu_products FLAM_DEFAULT(NULL);
  size_t n_mu_products;
  /** 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1; default
   *  none */
  flam_tensor *const *steps FLAM_DEFAULT(NULL);
  size_t n_steps;
  double beta1 FLAM_DEFAULT(0.9); /**< share of the first moment that stays; default 0.9 */
  double beta2 FLAM_DEFAULT(0.999); /**< share of the second moment that stays; default 0.999 */
  double eps FLAM_DEFAULT(1e-8); /**< added to the denominator; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  /** how fast the momentum grows to `beta1`; default 4e-3 */
  double momentum_decay FLAM_DEFAULT(4e-3);
  /** whether the decay goes past the moments; default false */
  flam_bool decoupled_weight_decay FLAM_DEFAULT(0);
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_nadam_step_options;

/** One step of NAdam, Adam with Nesterov's momentum over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `lr`: learning rate.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Dozat, 2016, ICLR workshop.
 */
FLAM_API flam_status flam_nadam_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    double lr FLAM_AFTER(steps), const flam_nadam_step_options *options);

/** State and options of `flam_radam_step`. */
typedef struct flam_radam_step_options {
  size_t struct_size; /**< sizeof(flam_radam_step_options) */
  /** running means of the gradients, in the parameters' shapes; default none */
  flam_tensor *const *exp_avgs FLAM_DEFAULT(NULL);
  size_t n_exp_avgs;
  /** running means of their squares; default none */
  flam_tensor *const *exp_avg_sqs FLAM_DEFAULT(NULL);
  size_t n_exp_avg_sqs;
  /** 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1; default
   *  none */
  flam_tensor *const *steps FLAM_DEFAULT(NULL);
  size_t n_steps;
  double beta1 FLAM_DEFAULT(0.9); /**< share of the first moment that stays; default 0.9 */
  double beta2 FLAM_DEFAULT(0.999); /**< share of the second moment that stays; default 0.999 */
  double eps FLAM_DEFAULT(1e-8); /**< added to the denominator; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  /** whether the decay goes past the moments; default false */
  flam_bool decoupled_weight_decay FLAM_DEFAULT(0);
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_radam_step_options;

/** One step of RAdam, Adam with a rectified rate over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `lr`: learning rate.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Liu et al., 2019, arXiv 1908.03265.
 */
FLAM_API flam_status flam_radam_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    double lr FLAM_AFTER(steps), const flam_radam_step_options *options);

/** State and options of `flam_asgd_step`. */
typedef struct flam_asgd_step_options {
  size_t struct_size; /**< sizeof(flam_asgd_step_options) */
  /** averages of the parameters, in their shapes; default none */
  flam_tensor *const *axs FLAM_DEFAULT(NULL);
  size_t n_axs;
  /** 0-d f32 tensors on the parameters' devices: the present rates, `lr` before the first step;
   *  advanced; default none */
  flam_tensor *const *etas FLAM_DEFAULT(NULL);
  size_t n_etas;
  /** 0-d f32 tensors on the parameters' devices: the present shares in the average, 1 before
   *  the first step; advanced; default none */
  flam_tensor *const *mus FLAM_DEFAULT(NULL);
  size_t n_mus;
  /** 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1; default
   *  none */
  flam_tensor *const *steps FLAM_DEFAULT(NULL);
  size_t n_steps;
  double lambd FLAM_DEFAULT(1e-4); /**< decay of the parameters; default 1e-4 */
  double alpha FLAM_DEFAULT(0.75); /**< power by which the rate falls; default 0.75 */
  double t0 FLAM_DEFAULT(1e6); /**< the step from which on parameters are averaged; default 1e6 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_asgd_step_options;

/** One step of Averaged stochastic gradient descent over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `lr`: learning rate.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Polyak and Juditsky, 1992, SIAM J. Control Optim. 30.
 */
FLAM_API flam_status flam_asgd_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    double lr FLAM_AFTER(steps), const flam_asgd_step_options *options);

/** State and options of `flam_rprop_step`. */
typedef struct flam_rprop_step_options {
  size_t struct_size; /**< sizeof(flam_rprop_step_options) */
  /** the last gradients, in the parameters' shapes; zeros before the first step; default none */
  flam_tensor *const *prevs FLAM_DEFAULT(NULL);
  size_t n_prevs;
  /** step sizes of all elements; `lr` before the first step; default none */
  flam_tensor *const *step_sizes FLAM_DEFAULT(NULL);
  size_t n_step_sizes;
  /** 0-d f32 tensors on the parameters' devices that count the steps; advanced by 1; default
   *  none */
  flam_tensor *const *steps FLAM_DEFAULT(NULL);
  size_t n_steps;
  /** factor of the step size where the sign changes, in (0, 1); default 0.5 */
  double etaminus FLAM_DEFAULT(0.5);
  double etaplus FLAM_DEFAULT(1.2); /**< factor where it stays, above 1; default 1.2 */
  double step_size_min FLAM_DEFAULT(1e-6); /**< least step size; default 1e-6 */
  double step_size_max FLAM_DEFAULT(50); /**< greatest step size; default 50 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_rprop_step_options;

/** One step of Resilient backpropagation over lists of tensors.
 *
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `options`: holds the state, which the caller keeps: lists as long as `params`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the lists differ in length or shape; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Riedmiller and Braun, 1993, ICNN.
 */
FLAM_API flam_status flam_rprop_step(
    flam_tensor *const *params, size_t n_params, flam_tensor *const *grads, size_t n_grads,
    const flam_rprop_step_options *options);

#ifdef __cplusplus
}
#endif
#endif
