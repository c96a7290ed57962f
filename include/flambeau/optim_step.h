/* Update rules of optimizers, and fused steps by them over lists of tensors that the caller keeps:
 * parameters, gradients and the state that belongs to them. optim.h has optimizers that keep these
 * themselves and step by the same rules.
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

/** How gradients change parameters. The functions of optim.h cite each rule's source and give its
 * values' meanings and defaults. */
typedef int32_t flam_rule;
enum {
  FLAM_RULE_UNSPECIFIED = 0,
  FLAM_RULE_SGD = 1, /* `flam_sgd_new` */
  FLAM_RULE_ADAM = 2, /* `flam_adam_new` */
  /* `flam_adamw_new`; `decoupled_weight_decay` is a value as the others are: give 1 */
  FLAM_RULE_ADAMW = 3,
  FLAM_RULE_RMSPROP = 4, /* `flam_rmsprop_new` */
  FLAM_RULE_ADAGRAD = 5, /* `flam_adagrad_new` */
  FLAM_RULE_ADADELTA = 6, /* `flam_adadelta_new` */
  FLAM_RULE_ADAMAX = 7, /* `flam_adamax_new` */
  FLAM_RULE_NADAM = 8, /* `flam_nadam_new` */
  FLAM_RULE_RADAM = 9, /* `flam_radam_new` */
  FLAM_RULE_ASGD = 10, /* `flam_asgd_new` */
  FLAM_RULE_RPROP = 11, /* `flam_rprop_new` */
  FLAM_RULE_ADAFACTOR = 12, /* `flam_adafactor_new` */
  FLAM_RULE_MUON = 13 /* `flam_muon_new` */
};

/** The rule of a name.
 *
 * - `name`: as torch.optim calls its class, such as "AdamW".
 * - returns: the rule; `FLAM_RULE_UNSPECIFIED` where there is none of this name.
 */
FLAM_API flam_rule flam_rule_find(const char *name);

/** The name of a rule.
 *
 * - `rule`: the rule.
 * - returns: as torch.optim calls its class; `NULL` for a number that is no rule.
 */
FLAM_API FLAM_BORROWED(process)
const char *flam_rule_name(flam_rule rule);

/** How many values a step of a rule takes.
 *
 * - `rule`: the rule.
 * - returns: the number; 0 for a number that is no rule.
 */
FLAM_API size_t flam_rule_value_count(flam_rule rule);

/** The name of one of a rule's values.
 *
 * - `rule`: the rule.
 * - `index`: its place among the values, from 0.
 * - returns: the name by which `flam_optimizer_option` knows it, such as "lr", which is always the
 *   first; `NULL` where there is no such value.
 */
FLAM_API FLAM_BORROWED(process)
const char *flam_rule_value_name(flam_rule rule, size_t index);

/** How many states a rule may keep of a parameter.
 *
 * - `rule`: the rule.
 * - returns: the number; 0 for a number that is no rule.
 */
FLAM_API size_t flam_rule_state_count(flam_rule rule);

/** The name of one of a rule's states.
 *
 * - `rule`: the rule.
 * - `index`: its place among the states, from 0.
 * - returns: the name that torch.optim gives it, such as "exp_avg"; `NULL` where there is no such
 *   state.
 */
FLAM_API FLAM_BORROWED(process)
const char *flam_rule_state_name(flam_rule rule, size_t index);

/** The value without which a rule does not keep a state.
 *
 * - `rule`: the rule.
 * - `index`: the state's place, from 0.
 * - returns: the name of the value, which is then 0, such as "amsgrad"; `NULL` where the state does
 *   not depend on one.
 */
FLAM_API FLAM_BORROWED(process)
const char *flam_rule_state_value(flam_rule rule, size_t index);

/** Whether a state is one f32 number of the whole parameter, such as its count of steps, rather
 * than one of each element.
 *
 * - `rule`: the rule.
 * - `index`: the state's place, from 0.
 * - returns: true or false.
 */
FLAM_API flam_bool flam_rule_state_is_number(flam_rule rule, size_t index);

/** A state as it is before a parameter's first step.
 *
 * - `rule`: the rule.
 * - `index`: the state's place, from 0.
 * - `param`: the parameter; floating point.
 * - `values`: as `flam_rule_step` takes them.
 * - returns: the state, on the device of `param`; `NULL` without an error where the rule keeps none
 *   of parameters of this dimension by these values.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a number that is no rule or another count of values;
 *   `FLAM_ERROR_INDEX`.
 */
FLAM_API FLAM_NULLABLE flam_tensor *flam_rule_state_new(
    flam_rule rule, size_t index, const flam_tensor *param, const double *values, size_t n_values);

/** State and options of `flam_rule_step`. Only SGD without momentum steps without state. */
typedef struct flam_rule_step_options {
  size_t struct_size; /**< sizeof(flam_rule_step_options) */
  /** the rule's first state of every parameter that has it, then its second, and so on; what
   *  `flam_rule_state_new` says is not there is left out. Changed in place; default none */
  flam_tensor *const *states FLAM_EMPTY FLAM_DEFAULT(NULL);
  size_t n_states;
  /** whether the momentum buffers of SGD hold nothing: they then become the gradients; default
   *  false */
  flam_bool first_step FLAM_DEFAULT(0);
  /** 1 element, f32, on the parameters' device: what gradients are divided by; default 1 */
  const flam_tensor *grad_scale FLAM_DEFAULT(NULL);
  /** 1 element, f32, on the parameters' device: where it is not 0, the step does nothing;
   *  default 0 */
  const flam_tensor *found_inf FLAM_DEFAULT(NULL);
} flam_rule_step_options;

/** One step of a rule over lists of tensors on one device. Adafactor and Muon step parameter by
 * parameter, and wait for the device where `found_inf` is given.
 *
 * - `rule`: the rule.
 * - `params`: the parameters, dense; changed in place.
 * - `grads`: their gradients, in their shapes and dtypes.
 * - `values`: the rule's values, in the order of `flam_rule_value_name`; 0 or 1 for a switch.
 * - `options`: holds the state, which the caller keeps.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where lists differ in length, a state is missing, or tensors differ
 *   in shape; `FLAM_ERROR_INVALID_ARGUMENT` for a number that is no rule, another count of values,
 *   or a tensor of another dtype or device than its parameter; `FLAM_ERROR_DTYPE` for parameters
 *   that are not floating point. Nothing has changed then.
 */
FLAM_API flam_status flam_rule_step(
    flam_rule rule, flam_tensor *const *params, size_t n_params, flam_tensor *const *grads,
    size_t n_grads, const double *values, size_t n_values, const flam_rule_step_options *options);

#ifdef __cplusplus
}
#endif
#endif
