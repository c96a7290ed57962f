/* Optimizers that own their state, and gradient clipping. Steps over lists of tensors that the
 * caller keeps are in optim_step.h.
 * namespace: capi
 *
 * The order of operations is that of torch.optim. One launch serves up to 48 tensors; nothing waits
 * for the device.
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
  void *user; /* handed to the functions below */
  /* Clears the gradients, computes the loss, runs backward, and writes the loss. Returns
   * FLAM_OK, or records with flam_error_set and returns FLAM_ERROR_CALLBACK. */
  flam_status (*call)(void *user, double *out_loss);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_closure;

/** Options of `flam_clip_grad_norm_`. */
typedef struct flam_clip_grad_norm_options {
  size_t struct_size; /**< sizeof(flam_clip_grad_norm_options) */
  /** p of the norm; infinity for the greatest absolute value; default 2 */
  double norm_type FLAM_DEFAULT(2);
  /** whether a norm that is not finite is an error, which waits for the device; default false */
  flam_bool error_if_nonfinite FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_clip_grad_norm_options;

/** Scales gradients so that their common norm is at most `max_norm`, without waiting for the
 * device.
 *
 * - `params`: parameters; those without a gradient are passed over.
 * - `max_norm`: the bound.
 * - returns: the norm before scaling, 0-d.
 * - errors: `FLAM_ERROR_NON_FINITE` where that was asked for.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_clip_grad_norm_(
    flam_tensor *const *params, size_t n_params, double max_norm,
    const flam_clip_grad_norm_options *options);

/** Limits every gradient element to [-clip_value, clip_value].
 *
 * - `params`: parameters; those without a gradient are passed over.
 * - `clip_value`: the bound, not negative.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative bound.
 */
FLAM_API flam_status
flam_clip_grad_value_(flam_tensor *const *params, size_t n_params, double clip_value);

/* ---- optimizers that own their state --------------------------------------------------------- */

/** Options of `flam_sgd_new`. */
typedef struct flam_sgd_options {
  size_t struct_size; /**< sizeof(flam_sgd_options) */
  double lr FLAM_DEFAULT(1e-3); /**< learning rate; default 1e-3 */
  double momentum FLAM_DEFAULT(0); /**< share of the last step that goes on; default 0 */
  double dampening FLAM_DEFAULT(0); /**< what momentum takes off the gradient; default 0 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  flam_bool nesterov FLAM_DEFAULT(0); /**< whether momentum looks ahead; default false */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to step uphill; default false */
} flam_sgd_options;

/** Stochastic gradient descent.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Sutskever et al., 2013, ICML.
 */
FLAM_API flam_optimizer *flam_sgd_new(
    flam_tensor *const *params, size_t n_params, const flam_sgd_options *options);

/** Options of `flam_adam_new`. */
typedef struct flam_adam_options {
  size_t struct_size; /**< sizeof(flam_adam_options) */
  double lr FLAM_DEFAULT(1e-3); /**< learning rate; default 1e-3 */
  double beta1 FLAM_DEFAULT(0.9); /**< decay of the mean of gradients; default 0.9 */
  double beta2 FLAM_DEFAULT(0.999); /**< decay of the mean of squares; default 0.999 */
  double eps FLAM_DEFAULT(1e-8); /**< added to what divides; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  flam_bool amsgrad FLAM_DEFAULT(0); /**< whether to divide by the largest mean; default false */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to step uphill; default false */
} flam_adam_options;

/** Adam.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Kingma and Ba, 2014, arXiv 1412.6980.
 */
FLAM_API flam_optimizer *flam_adam_new(
    flam_tensor *const *params, size_t n_params, const flam_adam_options *options);

/** Options of `flam_adamw_new`. */
typedef struct flam_adamw_options {
  size_t struct_size; /**< sizeof(flam_adamw_options) */
  double lr FLAM_DEFAULT(1e-3); /**< learning rate; default 1e-3 */
  double beta1 FLAM_DEFAULT(0.9); /**< decay of the mean of gradients; default 0.9 */
  double beta2 FLAM_DEFAULT(0.999); /**< decay of the mean of squares; default 0.999 */
  double eps FLAM_DEFAULT(1e-8); /**< added to what divides; default 1e-8 */
  double weight_decay FLAM_DEFAULT(1e-2); /**< decoupled decay; default 1e-2 */
  flam_bool amsgrad FLAM_DEFAULT(0); /**< whether to divide by the largest mean; default false */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to step uphill; default false */
} flam_adamw_options;

/** Adam with decoupled weight decay.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Loshchilov and Hutter, 2017, arXiv 1711.05101.
 */
FLAM_API flam_optimizer *flam_adamw_new(
    flam_tensor *const *params, size_t n_params, const flam_adamw_options *options);

/** Options of `flam_rmsprop_new`. */
typedef struct flam_rmsprop_options {
  size_t struct_size; /**< sizeof(flam_rmsprop_options) */
  double lr FLAM_DEFAULT(1e-2); /**< learning rate; default 1e-2 */
  double alpha FLAM_DEFAULT(0.99); /**< share of the mean square that stays; default 0.99 */
  double eps FLAM_DEFAULT(1e-8); /**< added to the denominator; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  double momentum FLAM_DEFAULT(0); /**< share of the buffer that stays; 0 for none; default 0 */
  /** whether the mean gradient is taken off the mean square; default false */
  flam_bool centered FLAM_DEFAULT(0);
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
} flam_rmsprop_options;

/** RMSprop.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Hinton, 2012, lecture 6 of Neural Networks for Machine Learning; Graves, 2013, arXiv
 *   1308.0850, for the centered form.
 */
FLAM_API flam_optimizer *flam_rmsprop_new(
    flam_tensor *const *params, size_t n_params, const flam_rmsprop_options *options);

/** Options of `flam_adagrad_new`. */
typedef struct flam_adagrad_options {
  size_t struct_size; /**< sizeof(flam_adagrad_options) */
  double lr FLAM_DEFAULT(1e-2); /**< learning rate; default 1e-2 */
  double lr_decay FLAM_DEFAULT(0); /**< what the rate loses per step; default 0 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  double initial_accumulator_value FLAM_DEFAULT(0); /**< what the sums begin with; default 0 */
  double eps FLAM_DEFAULT(1e-10); /**< added to the denominator; default 1e-10 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  int32_t reserved; /**< 0 */
} flam_adagrad_options;

/** Adagrad.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Duchi, Hazan and Singer, 2011, JMLR 12.
 */
FLAM_API flam_optimizer *flam_adagrad_new(
    flam_tensor *const *params, size_t n_params, const flam_adagrad_options *options);

/** Options of `flam_adadelta_new`. */
typedef struct flam_adadelta_options {
  size_t struct_size; /**< sizeof(flam_adadelta_options) */
  double lr FLAM_DEFAULT(1.0); /**< learning rate; default 1.0 */
  double rho FLAM_DEFAULT(0.9); /**< share of the running means that stays; default 0.9 */
  double eps FLAM_DEFAULT(1e-6); /**< added to the denominator; default 1e-6 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  int32_t reserved; /**< 0 */
} flam_adadelta_options;

/** Adadelta.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Zeiler, 2012, arXiv 1212.5701.
 */
FLAM_API flam_optimizer *flam_adadelta_new(
    flam_tensor *const *params, size_t n_params, const flam_adadelta_options *options);

/** Options of `flam_adamax_new`. */
typedef struct flam_adamax_options {
  size_t struct_size; /**< sizeof(flam_adamax_options) */
  double lr FLAM_DEFAULT(2e-3); /**< learning rate; default 2e-3 */
  double beta1 FLAM_DEFAULT(0.9); /**< share of the first moment that stays; default 0.9 */
  double beta2 FLAM_DEFAULT(0.999); /**< share of the second moment that stays; default 0.999 */
  double eps FLAM_DEFAULT(1e-8); /**< added to the denominator; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  int32_t reserved; /**< 0 */
} flam_adamax_options;

/** Adamax, Adam by the infinity norm.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Kingma and Ba, 2014, arXiv 1412.6980.
 */
FLAM_API flam_optimizer *flam_adamax_new(
    flam_tensor *const *params, size_t n_params, const flam_adamax_options *options);

/** Options of `flam_nadam_new`. */
typedef struct flam_nadam_options {
  size_t struct_size; /**< sizeof(flam_nadam_options) */
  double lr FLAM_DEFAULT(2e-3); /**< learning rate; default 2e-3 */
  double beta1 FLAM_DEFAULT(0.9); /**< share of the first moment that stays; default 0.9 */
  double beta2 FLAM_DEFAULT(0.999); /**< share of the second moment that stays; default 0.999 */
  double eps FLAM_DEFAULT(1e-8); /**< added to the denominator; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  /** how fast the momentum grows to `beta1`; default 4e-3 */
  double momentum_decay FLAM_DEFAULT(4e-3);
  /** whether the decay goes past the moments; default false */
  flam_bool decoupled_weight_decay FLAM_DEFAULT(0);
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
} flam_nadam_options;

/** NAdam, Adam with Nesterov's momentum.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Dozat, 2016, ICLR workshop.
 */
FLAM_API flam_optimizer *flam_nadam_new(
    flam_tensor *const *params, size_t n_params, const flam_nadam_options *options);

/** Options of `flam_radam_new`. */
typedef struct flam_radam_options {
  size_t struct_size; /**< sizeof(flam_radam_options) */
  double lr FLAM_DEFAULT(1e-3); /**< learning rate; default 1e-3 */
  double beta1 FLAM_DEFAULT(0.9); /**< share of the first moment that stays; default 0.9 */
  double beta2 FLAM_DEFAULT(0.999); /**< share of the second moment that stays; default 0.999 */
  double eps FLAM_DEFAULT(1e-8); /**< added to the denominator; default 1e-8 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  /** whether the decay goes past the moments; default false */
  flam_bool decoupled_weight_decay FLAM_DEFAULT(0);
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
} flam_radam_options;

/** RAdam, Adam with a rectified rate.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Liu et al., 2019, arXiv 1908.03265.
 */
FLAM_API flam_optimizer *flam_radam_new(
    flam_tensor *const *params, size_t n_params, const flam_radam_options *options);

/** Options of `flam_asgd_new`. */
typedef struct flam_asgd_options {
  size_t struct_size; /**< sizeof(flam_asgd_options) */
  double lr FLAM_DEFAULT(1e-2); /**< learning rate; default 1e-2 */
  double lambd FLAM_DEFAULT(1e-4); /**< decay of the parameters; default 1e-4 */
  double alpha FLAM_DEFAULT(0.75); /**< power by which the rate falls; default 0.75 */
  double t0 FLAM_DEFAULT(1e6); /**< the step from which on parameters are averaged; default 1e6 */
  double weight_decay FLAM_DEFAULT(0); /**< L2 penalty; default 0 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  int32_t reserved; /**< 0 */
} flam_asgd_options;

/** Averaged stochastic gradient descent.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Polyak and Juditsky, 1992, SIAM J. Control Optim. 30.
 */
FLAM_API flam_optimizer *flam_asgd_new(
    flam_tensor *const *params, size_t n_params, const flam_asgd_options *options);

/** Options of `flam_rprop_new`. */
typedef struct flam_rprop_options {
  size_t struct_size; /**< sizeof(flam_rprop_options) */
  double lr FLAM_DEFAULT(1e-2); /**< learning rate; default 1e-2 */
  /** factor of the step size where the sign changes, in (0, 1); default 0.5 */
  double etaminus FLAM_DEFAULT(0.5);
  double etaplus FLAM_DEFAULT(1.2); /**< factor where it stays, above 1; default 1.2 */
  double step_size_min FLAM_DEFAULT(1e-6); /**< least step size; default 1e-6 */
  double step_size_max FLAM_DEFAULT(50); /**< greatest step size; default 50 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  int32_t reserved; /**< 0 */
} flam_rprop_options;

/** Resilient backpropagation.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Riedmiller and Braun, 1993, ICNN.
 */
FLAM_API flam_optimizer *flam_rprop_new(
    flam_tensor *const *params, size_t n_params, const flam_rprop_options *options);

/** Options of `flam_adafactor_new`. */
typedef struct flam_adafactor_options {
  size_t struct_size; /**< sizeof(flam_adafactor_options) */
  double lr FLAM_DEFAULT(1e-2); /**< bound of the relative step; default 1e-2 */
  /** power of the step by which new squares count; not positive; default -0.8 */
  double beta2_decay FLAM_DEFAULT(-0.8);
  /** least mean of squares; default the machine epsilon of each parameter's dtype */
  const double *eps1 FLAM_DEFAULT(NULL);
  double eps2 FLAM_DEFAULT(1e-3); /**< least size of a parameter; default 1e-3 */
  double d FLAM_DEFAULT(1); /**< clipping threshold of the step, at least 1; default 1 */
  double weight_decay FLAM_DEFAULT(0); /**< share of the parameter that goes; default 0 */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
  int32_t reserved; /**< 0 */
} flam_adafactor_options;

/** Adafactor: steps relative to the parameter's size, by second moments that are kept as one row
 * and one column per matrix.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Shazeer and Stern, 2018, arXiv 1804.04235; as torch.optim.Adafactor reads it.
 */
FLAM_API flam_optimizer *flam_adafactor_new(
    flam_tensor *const *params, size_t n_params, const flam_adafactor_options *options);

/** How Muon fits its learning rate to a matrix of r rows and c columns. */
typedef int32_t flam_muon_adjustment;
enum {
  FLAM_MUON_UNSPECIFIED = 0,
  FLAM_MUON_ORIGINAL = 1, /* times sqrt(max(1, r / c)) */
  FLAM_MUON_MATCH_RMS_ADAMW = 2, /* times 0.2 sqrt(max(r, c)), for rates tuned for AdamW */
  FLAM_MUON_SPECTRAL_UNCLAMPED = 3 /* times sqrt(r / c) */
};

/** Options of `flam_muon_new`. */
typedef struct flam_muon_options {
  size_t struct_size; /**< sizeof(flam_muon_options) */
  double lr FLAM_DEFAULT(1e-3); /**< learning rate; default 1e-3 */
  double weight_decay FLAM_DEFAULT(0.1); /**< share of the parameter that goes; default 0.1 */
  double momentum FLAM_DEFAULT(0.95); /**< share of the buffer that stays; default 0.95 */
  flam_bool nesterov FLAM_DEFAULT(1); /**< whether to look ahead; default true */
  /** coefficient of x in the polynomial that is iterated; default 3.4445 */
  double ns_a FLAM_DEFAULT(3.4445);
  double ns_b FLAM_DEFAULT(-4.7750); /**< that of its third power; default -4.7750 */
  double ns_c FLAM_DEFAULT(2.0315); /**< that of its fifth power; default 2.0315 */
  double eps FLAM_DEFAULT(1e-7); /**< least norm that is divided by; default 1e-7 */
  int64_t ns_steps FLAM_DEFAULT(5); /**< iterations, less than 100; default 5 */
  /** how the rate follows the matrix's shape; default the original's */
  flam_muon_adjustment adjust_lr_fn FLAM_DEFAULT(FLAM_MUON_ORIGINAL);
  int32_t reserved; /**< 0 */
} flam_muon_options;

/** Muon: momentum whose matrix is made orthogonal, by Newton's and Schulz's iteration in bfloat16,
 * before it is the step.
 *
 * - `params`: the parameters to change, 2-d each; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, a parameter that
 *   is no matrix, or an empty list.
 * - source: Jordan et al., 2024, https://kellerjordan.github.io/posts/muon; Liu et al., 2025, arXiv
 *   2502.16982, for the rate's adjustment.
 */
FLAM_API flam_optimizer *flam_muon_new(
    flam_tensor *const *params, size_t n_params, const flam_muon_options *options);

/** Options of `flam_lbfgs_new`. */
typedef struct flam_lbfgs_options {
  size_t struct_size; /**< sizeof(flam_lbfgs_options) */
  double lr FLAM_DEFAULT(1); /**< learning rate; default 1 */
  int64_t max_iter FLAM_DEFAULT(20); /**< iterations per step, at most; default 20 */
  /** calls of the closure per step, at most; 0 for 1.25 times `max_iter`; default 0 */
  int64_t max_eval FLAM_DEFAULT(0);
  /** gradients all at most this end a step; default 1e-7 */
  double tolerance_grad FLAM_DEFAULT(1e-7);
  /** so does a change of loss or parameters below this; default 1e-9 */
  double tolerance_change FLAM_DEFAULT(1e-9);
  int64_t history_size FLAM_DEFAULT(100); /**< how many changes are kept; default 100 */
  flam_bool strong_wolfe FLAM_DEFAULT(0); /**< whether to search along the line; default false */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether to ascend; default false */
} flam_lbfgs_options;

/** L-BFGS, with or without a line search that holds the strong Wolfe conditions. It steps by
 * `flam_optimizer_step_closure`, and has one group of parameters on one device.
 *
 * - `params`: the parameters to change; kept.
 * - returns: the optimizer.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it, or an empty list.
 * - source: Liu and Nocedal, 1989, Math. Programming 45; Nocedal and Wright, 2006, Numerical
 *   Optimization, chapters 3 and 7.
 */
FLAM_API flam_optimizer *flam_lbfgs_new(
    flam_tensor *const *params, size_t n_params, const flam_lbfgs_options *options);

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
FLAM_API flam_status flam_optimizer_add_group(
    flam_optimizer *optimizer, flam_tensor *const *params, size_t n_params, double lr,
    double weight_decay FLAM_DEFAULT(0));

/** Changes every parameter that has a gradient.
 *
 * - `optimizer`: the optimizer.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_OUT_OF_DEVICE_MEMORY` for state made at the first step;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where the optimizer needs a closure.
 */
FLAM_API flam_status flam_optimizer_step(flam_optimizer *optimizer);

/** Computes the loss and its gradients by a closure, then changes the parameters; L-BFGS calls the
 * closure as often as it needs.
 *
 * - `optimizer`: the optimizer.
 * - `closure`: computes the loss; copied. `drop` has been called when this returns.
 * - `out_loss`: the loss of the first call.
 * - returns: `FLAM_OK`.
 * - errors: what the closure failed with; those of `flam_optimizer_step`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_optimizer_step_closure(
    flam_optimizer *optimizer, const flam_closure *closure, double *out_loss);

/** Clears the gradients of all its parameters.
 *
 * - `optimizer`: the optimizer.
 * - `set_to_none`: whether to drop them rather than to fill them with zeros; default true.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status
flam_optimizer_zero_grad(flam_optimizer *optimizer, flam_bool set_to_none FLAM_DEFAULT(1));

/** How many groups there are.
 *
 * - `optimizer`: the optimizer.
 * - returns: the number of groups, at least 1.
 */
FLAM_API size_t flam_optimizer_group_count(const flam_optimizer *optimizer);

/** The learning rate of a group.
 *
 * - `optimizer`: the optimizer.
 * - `group`: its number, from 0; default 0.
 * - returns: the learning rate; NaN where there is no such group.
 */
FLAM_API double flam_optimizer_lr(const flam_optimizer *optimizer, size_t group FLAM_DEFAULT(0));

/** Sets the learning rate of a group.
 *
 * - `optimizer`: the optimizer.
 * - `lr`: the new learning rate, not negative.
 * - `group`: its number, from 0; default 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX`; `FLAM_ERROR_INVALID_ARGUMENT` for a negative rate.
 */
FLAM_API flam_status
flam_optimizer_set_lr(flam_optimizer *optimizer, double lr, size_t group FLAM_DEFAULT(0));

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
FLAM_API flam_status flam_optimizer_option(
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
FLAM_API flam_status flam_optimizer_set_option(
    flam_optimizer *optimizer, const char *name, double value, size_t group FLAM_DEFAULT(0));

/** The state of all parameters, named `<parameter>.<state>` with parameters numbered across groups,
 * and the options of all groups, named `groups.<group>.<option>`.
 *
 * - `optimizer`: the optimizer.
 * - returns: names and tensors that share memory with the optimizer.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_state *flam_optimizer_state_dict(const flam_optimizer *optimizer);

/** Takes over the state that `flam_optimizer_state_dict` gave; nothing changes where an error is
 * found.
 *
 * - `optimizer`: the optimizer.
 * - `state`: names and tensors, of any device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown name; `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_optimizer_load_state_dict(flam_optimizer *optimizer, const flam_state *state);

/** Drops a reference to an optimizer.
 *
 * - `optimizer`: the optimizer, or `NULL`.
 */
FLAM_API void flam_optimizer_release(FLAM_NULLABLE flam_optimizer *optimizer);

#ifdef __cplusplus
}
#endif
#endif
