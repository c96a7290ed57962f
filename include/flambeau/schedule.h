/* Learning rate schedules: each sets the rates of an optimizer's groups, epoch by epoch.
 * namespace: capi
 *
 * Rates are computed from the ones before in the order of torch.optim.lr_scheduler, hence equal to
 * the last bit. Making a schedule sets the rates of epoch 0.
 */
#ifndef FLAMBEAU_SCHEDULE_H
#define FLAMBEAU_SCHEDULE_H

#include "flambeau/common.h"
#include "flambeau/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a cyclic schedule's peaks change from cycle to cycle. */
typedef int32_t flam_cycle;
enum {
  FLAM_CYCLE_UNSPECIFIED = 0,
  FLAM_CYCLE_TRIANGULAR = 1, /* they do not */
  FLAM_CYCLE_TRIANGULAR2 = 2, /* halved each time */
  FLAM_CYCLE_EXP_RANGE = 3 /* times `gamma` to the power of the epoch */
};

/** The factor of a learning rate, from a host language. */
typedef struct flam_rate_callback {
  size_t struct_size; /* sizeof(flam_rate_callback) */
  void *user; /* handed to the functions below */
  /* Writes the factor of a group's rate at an epoch. Returns FLAM_OK, or records with
   * flam_error_set and returns FLAM_ERROR_CALLBACK. */
  flam_status (*call)(void *user, int64_t epoch, size_t group, double *out_factor);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_rate_callback;

/** Multiplies the learning rate by `gamma` every `step_size` steps.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `step_size`: steps between changes, at least 1.
 * - `gamma`: the factor; default 0.1.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a step size below 1.
 */
FLAM_API flam_scheduler *flam_step_lr_new(
    flam_optimizer *optimizer, int64_t step_size, double gamma FLAM_DEFAULT(0.1));

/** Multiplies the learning rate by `gamma` at each milestone.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `milestones`: epochs, in any order; one that is there twice counts twice.
 * - `gamma`: the factor; default 0.1.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_scheduler *flam_multi_step_lr_new(
    flam_optimizer *optimizer, const int64_t *milestones, size_t n_milestones,
    double gamma FLAM_DEFAULT(0.1));

/** Options of `flam_constant_lr_new`. */
typedef struct flam_constant_lr_options {
  size_t struct_size; /**< sizeof(flam_constant_lr_options) */
  double factor FLAM_DEFAULT(0.3333333333333333); /**< in [0, 1]; default 1/3 */
  int64_t total_iters FLAM_DEFAULT(5); /**< when the rate returns to its first value; default 5 */
} flam_constant_lr_options;

/** Scales the learning rate by `factor` until epoch `total_iters`.
 *
 * - `optimizer`: whose groups are set; kept.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a factor out of range.
 */
FLAM_API flam_scheduler *flam_constant_lr_new(
    flam_optimizer *optimizer, const flam_constant_lr_options *options);

/** Options of `flam_linear_lr_new`. */
typedef struct flam_linear_lr_options {
  size_t struct_size; /**< sizeof(flam_linear_lr_options) */
  double start_factor FLAM_DEFAULT(0.3333333333333333); /**< in (0, 1]; default 1/3 */
  double end_factor FLAM_DEFAULT(1); /**< in [0, 1]; default 1 */
  int64_t total_iters FLAM_DEFAULT(5); /**< epochs until `end_factor`, at least 1; default 5 */
} flam_linear_lr_options;

/** Lets the learning rate go on a line between two factors of its first value.
 *
 * - `optimizer`: whose groups are set; kept.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range.
 */
FLAM_API flam_scheduler *flam_linear_lr_new(
    flam_optimizer *optimizer, const flam_linear_lr_options *options);

/** Multiplies the learning rate by `gamma` every epoch.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `gamma`: the factor.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_scheduler *flam_exponential_lr_new(flam_optimizer *optimizer, double gamma);

/** Options of `flam_polynomial_lr_new`. */
typedef struct flam_polynomial_lr_options {
  size_t struct_size; /**< sizeof(flam_polynomial_lr_options) */
  int64_t total_iters FLAM_DEFAULT(5); /**< epochs until 0, at least 1; default 5 */
  double power FLAM_DEFAULT(1); /**< the power; default 1 */
} flam_polynomial_lr_options;

/** Lets the learning rate fall to 0 by a power of what is left of `total_iters`.
 *
 * - `optimizer`: whose groups are set; kept.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for `total_iters` below 1.
 */
FLAM_API flam_scheduler *flam_polynomial_lr_new(
    flam_optimizer *optimizer, const flam_polynomial_lr_options *options);

/** Lets the learning rate fall along half a cosine.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `t_max`: steps to the least rate, at least 1.
 * - `eta_min`: the least rate; default 0.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for `t_max` below 1.
 * - source: Loshchilov and Hutter, 2016, arXiv 1608.03983.
 */
FLAM_API flam_scheduler *flam_cosine_annealing_lr_new(
    flam_optimizer *optimizer, int64_t t_max, double eta_min FLAM_DEFAULT(0));

/** Options of `flam_cosine_annealing_warm_restarts_new`. */
typedef struct flam_cosine_annealing_warm_restarts_options {
  size_t struct_size; /**< sizeof(flam_cosine_annealing_warm_restarts_options) */
  int64_t t_mult FLAM_DEFAULT(1); /**< how much longer each next fall is, at least 1; default 1 */
  double eta_min FLAM_DEFAULT(0); /**< the least rate; default 0 */
} flam_cosine_annealing_warm_restarts_options;

/** Lets the learning rate fall along half a cosine, again and again.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `t_0`: epochs until the first restart, at least 1.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a length below 1.
 * - source: Loshchilov and Hutter, 2016, arXiv 1608.03983.
 */
FLAM_API flam_scheduler *flam_cosine_annealing_warm_restarts_new(
    flam_optimizer *optimizer, int64_t t_0,
    const flam_cosine_annealing_warm_restarts_options *options);

/** Options of `flam_cyclic_lr_new`. */
typedef struct flam_cyclic_lr_options {
  size_t struct_size; /**< sizeof(flam_cyclic_lr_options) */
  double step_size_up FLAM_DEFAULT(2000); /**< steps of the way up; default 2000 */
  /** steps of the way down; 0 for as many as up; default 0 */
  double step_size_down FLAM_DEFAULT(0);
  /** how the peaks change; default `FLAM_CYCLE_TRIANGULAR` */
  flam_cycle mode FLAM_DEFAULT(FLAM_CYCLE_TRIANGULAR);
  double gamma FLAM_DEFAULT(1); /**< of `FLAM_CYCLE_EXP_RANGE`; default 1 */
  /** whether the momentum (or `beta1`) moves too; default true */
  flam_bool cycle_momentum FLAM_DEFAULT(1);
  double base_momentum FLAM_DEFAULT(0.8); /**< the least momentum; default 0.8 */
  double max_momentum FLAM_DEFAULT(0.9); /**< the greatest momentum; default 0.9 */
} flam_cyclic_lr_options;

/** Lets the learning rate go up and down between two rates, and the momentum against it.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `base_lr`: the least rate, of all groups.
 * - `max_lr`: the greatest rate.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for step sizes that are not positive, or an optimizer
 *   without momentum where it should move.
 * - source: Smith, 2015, arXiv 1506.01186.
 */
FLAM_API flam_scheduler *flam_cyclic_lr_new(
    flam_optimizer *optimizer, double base_lr, double max_lr,
    const flam_cyclic_lr_options *options);

/** Options of `flam_one_cycle_lr_new`. */
typedef struct flam_one_cycle_lr_options {
  size_t struct_size; /**< sizeof(flam_one_cycle_lr_options) */
  double pct_start FLAM_DEFAULT(0.3); /**< share of the rise, in [0, 1]; default 0.3 */
  /** whether to go on lines rather than along half cosines; default false */
  flam_bool linear FLAM_DEFAULT(0);
  /** whether the momentum (or `beta1`) goes against the rate; default true */
  flam_bool cycle_momentum FLAM_DEFAULT(1);
  double base_momentum FLAM_DEFAULT(0.85); /**< the least momentum; default 0.85 */
  double max_momentum FLAM_DEFAULT(0.95); /**< the greatest momentum; default 0.95 */
  double div_factor FLAM_DEFAULT(25); /**< `max_lr` over the first rate; default 25 */
  double final_div_factor FLAM_DEFAULT(1e4); /**< the first rate over the last; default 1e4 */
  /** whether the rate returns to the first before it falls further; default false */
  flam_bool three_phase FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_one_cycle_lr_options;

/** Lets the learning rate rise once to `max_lr` and fall far below where it began.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `max_lr`: the greatest rate, of all groups.
 * - `total_steps`: steps of the whole cycle, at least 1; stepping further is an error.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, or an optimizer without
 *   momentum where it should move.
 * - source: Smith and Topin, 2017, arXiv 1708.07120.
 */
FLAM_API flam_scheduler *flam_one_cycle_lr_new(
    flam_optimizer *optimizer, double max_lr, int64_t total_steps,
    const flam_one_cycle_lr_options *options);

/** Multiplies the first learning rate by a function of the epoch.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `factor`: the function; copied.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown struct size or a missing function; what
 *   the function failed with.
 */
FLAM_API flam_scheduler *flam_lambda_lr_new(
    flam_optimizer *optimizer, const flam_rate_callback *factor);

/** Multiplies the present learning rate by a function of the epoch.
 *
 * - `optimizer`: whose groups are set; kept.
 * - `factor`: the function; copied.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown struct size or a missing function; what
 *   the function failed with.
 */
FLAM_API flam_scheduler *flam_multiplicative_lr_new(
    flam_optimizer *optimizer, const flam_rate_callback *factor);

/** Options of `flam_reduce_lr_on_plateau_new`. */
typedef struct flam_reduce_lr_on_plateau_options {
  size_t struct_size; /**< sizeof(flam_reduce_lr_on_plateau_options) */
  flam_bool maximize FLAM_DEFAULT(0); /**< whether greater is better; default false */
  double factor FLAM_DEFAULT(0.1); /**< below 1; default 0.1 */
  int64_t patience FLAM_DEFAULT(10); /**< epochs without improvement that are borne; default 10 */
  double threshold FLAM_DEFAULT(1e-4); /**< what counts as improvement; default 1e-4 */
  /** whether the threshold is a difference rather than a share; default false */
  flam_bool absolute FLAM_DEFAULT(0);
  int64_t cooldown FLAM_DEFAULT(0); /**< epochs after a reduction that are not counted; default 0 */
  double min_lr FLAM_DEFAULT(0); /**< the least rate; default 0 */
  double eps FLAM_DEFAULT(1e-8); /**< changes of the rate below this are left out; default 1e-8 */
} flam_reduce_lr_on_plateau_options;

/** Multiplies the learning rate by `factor` when a metric has not improved for a while; steps by
 * `flam_scheduler_step_metric`.
 *
 * - `optimizer`: whose groups are set; kept.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a factor of 1 or more.
 */
FLAM_API flam_scheduler *flam_reduce_lr_on_plateau_new(
    flam_optimizer *optimizer, const flam_reduce_lr_on_plateau_options *options);

/** One schedule after the other, beginning with `first`; `flam_scheduler_append` adds the rest.
 *
 * - `first`: the schedule of epoch 0; kept. The rates begin anew.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a schedule that needs a metric.
 */
FLAM_API flam_scheduler *flam_sequential_lr_new(flam_scheduler *first);

/** Several schedules at once, one upon the other; `flam_scheduler_append` adds them.
 *
 * - `first`: the first schedule; kept.
 * - returns: the schedule.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a schedule that needs a metric.
 */
FLAM_API flam_scheduler *flam_chained_lr_new(flam_scheduler *first);

/** Adds a schedule to a sequence or a chain that was not stepped yet.
 *
 * - `scheduler`: the sequence or chain.
 * - `next`: the schedule to add, of the same optimizer; kept.
 * - `milestone`: the epoch at which a sequence changes to it, after those before; default 0, for
 *   chains.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another optimizer's schedule, one that needs a
 *   metric, milestones that do not grow, or a schedule that is not made of others.
 */
FLAM_API flam_status flam_scheduler_append(
    flam_scheduler *scheduler, flam_scheduler *next, int64_t milestone FLAM_DEFAULT(0));

/** Goes one step further and sets the learning rates.
 *
 * - `scheduler`: the schedule.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` past the end of a single cycle, or where a metric is
 *   needed; what a function of the program failed with.
 */
FLAM_API FLAM_BLOCKS flam_status flam_scheduler_step(flam_scheduler *scheduler);

/** Tells a schedule that goes by a metric the metric of this epoch.
 *
 * - `scheduler`: the schedule.
 * - `metric`: its value.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where the schedule takes none.
 */
FLAM_API flam_status flam_scheduler_step_metric(flam_scheduler *scheduler, double metric);

/** The learning rate that a schedule set last.
 *
 * - `scheduler`: the schedule.
 * - `group`: the group's number, from 0; default 0.
 * - returns: the rate; NaN where there is no such group.
 */
FLAM_API double flam_scheduler_last_lr(
    const flam_scheduler *scheduler, size_t group FLAM_DEFAULT(0));

/** Where a schedule stands, as f64 tensors by name.
 *
 * - `scheduler`: the schedule.
 * - returns: names and copies.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_state *flam_scheduler_state_dict(const flam_scheduler *scheduler);

/** Takes over what `flam_scheduler_state_dict` of the same kind of schedule gave; nothing changes
 * where an error is found. The optimizer's rates are part of the optimizer's state.
 *
 * - `scheduler`: the schedule.
 * - `state`: names and tensors.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a missing or unknown name; `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_scheduler_load_state_dict(flam_scheduler *scheduler, const flam_state *state);

/** A schedule's formula, with the values that it takes. The functions above give their meanings. */
typedef int32_t flam_schedule;
enum {
  FLAM_SCHEDULE_UNSPECIFIED = 0,
  FLAM_SCHEDULE_STEP = 1, /* step_size, gamma */
  FLAM_SCHEDULE_MULTI_STEP = 2, /* gamma, then the milestones */
  FLAM_SCHEDULE_CONSTANT = 3, /* factor, total_iters */
  FLAM_SCHEDULE_LINEAR = 4, /* start_factor, end_factor, total_iters */
  FLAM_SCHEDULE_EXPONENTIAL = 5, /* gamma */
  FLAM_SCHEDULE_POLYNOMIAL = 6, /* total_iters, power */
  FLAM_SCHEDULE_COSINE = 7, /* t_max, eta_min */
  /* steps of a cycle, the share of them that goes up, the peak, the scale of the way to it */
  FLAM_SCHEDULE_CYCLIC = 8,
  FLAM_SCHEDULE_ANNEAL_COSINE = 9, /* the end, the epochs where it begins and ends */
  FLAM_SCHEDULE_ANNEAL_LINEAR = 10 /* the same */
};

/** Options of `flam_schedule_rate`. */
typedef struct flam_schedule_rate_options {
  size_t struct_size; /**< sizeof(flam_schedule_rate_options) */
  /** whether to go by `base` and the epoch alone rather than on from `now`; the last three know no
   *  other way; default false */
  flam_bool closed FLAM_DEFAULT(0);
  /** whether the schedule only begins, where `now` is its first rate already; default false */
  flam_bool initial FLAM_DEFAULT(0);
} flam_schedule_rate_options;

/** The learning rate of an epoch by a formula, for programs that keep their schedules themselves.
 *
 * - `schedule`: the formula.
 * - `now`: the present rate, that of the epoch before.
 * - `base`: the rate that the schedule began with.
 * - `epoch`: the epoch, 0 at the beginning.
 * - `values`: the formula's values, in the order of `flam_schedule`.
 * - `out_rate`: the rate.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a number that is no schedule, another count of
 *   values, or a division by 0 at this epoch: by a length of 0, or to undo a factor of 0.
 */
FLAM_API flam_status flam_schedule_rate(
    flam_schedule schedule, double now, double base, double epoch, const double *values,
    size_t n_values, double *out_rate, const flam_schedule_rate_options *options);

/** Drops a reference to a schedule.
 *
 * - `scheduler`: the schedule, or `NULL`.
 */
FLAM_API void flam_scheduler_release(FLAM_NULLABLE flam_scheduler *scheduler);

#ifdef __cplusplus
}
#endif
#endif
