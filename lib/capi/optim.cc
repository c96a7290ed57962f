// Optimizers at the ABI.
#include "optim/optimizer.h"

#include <limits>

#include "base/error.h"
#include "capi/gen/targets.h"

namespace flambeau::capi {

namespace {

// One entry per parameter from lists of equal length; empty lists leave their place empty.
ParameterList parameter_list(
    const char* op, TensorsView params, TensorsView grads,
    std::initializer_list<std::pair<Tensor Parameter::*, TensorsView>> states) {
  check(params.size() == grads.size(), Code::shape, op, ": ", params.size(), " parameters but ",
        grads.size(), " gradients");
  ParameterList list(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    list[i].param = params[i];
    list[i].grad = grads[i];
  }
  for (const auto& [place, tensors] : states) {
    check(tensors.empty() || tensors.size() == params.size(), Code::shape, op, ": ", params.size(),
          " parameters but a state list of ", tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) list[i].*place = tensors[i];
  }
  return list;
}

}  // namespace

void sgd_step(TensorsView params, TensorsView grads, TensorsView buffers, double lr,
              double momentum, double dampening, double weight_decay, bool nesterov, bool maximize,
              bool first_step, const Tensor& grad_scale, const Tensor& found_inf) {
  ParameterList list = parameter_list("sgd_step", params, grads, {{&Parameter::first, buffers}});
  check(momentum == 0 || !buffers.empty(), Code::invalid_argument,
        "sgd_step: momentum needs momentum_buffers");
  for (Parameter& p : list) p.fresh = first_step;
  run_sgd("SGD", list, {lr, momentum, dampening, weight_decay, nesterov, maximize},
          {{}, grad_scale, found_inf});
}

void adam_step(TensorsView params, TensorsView grads, TensorsView exp_avgs, TensorsView exp_avg_sqs,
               TensorsView max_exp_avg_sqs, TensorsView steps, double lr, double beta1,
               double beta2, double eps, double weight_decay, bool decoupled, bool maximize,
               const Tensor& grad_scale, const Tensor& found_inf) {
  const ParameterList list = parameter_list("adam_step", params, grads,
                                            {{&Parameter::first, exp_avgs},
                                             {&Parameter::second, exp_avg_sqs},
                                             {&Parameter::greatest, max_exp_avg_sqs},
                                             {&Parameter::step, steps}});
  check(!exp_avgs.empty() && !exp_avg_sqs.empty() && !steps.empty(), Code::invalid_argument,
        "adam_step: exp_avgs, exp_avg_sqs and steps must be given");
  run_adam("Adam", list, {lr, beta1, beta2, eps, weight_decay, decoupled, maximize},
           {{}, grad_scale, found_inf});
}

Tensor clip_grad_norm_(TensorsView params, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  return optim::clip_grad_norm(params, max_norm, norm_type, error_if_nonfinite);
}

Ref<flam_optimizer> sgd_new(TensorsView params, double lr, double momentum, double dampening,
                            double weight_decay, bool nesterov, bool maximize) {
  return optim::sgd(params, {lr, momentum, dampening, weight_decay, nesterov, maximize});
}

Ref<flam_optimizer> adam_new(TensorsView params, double lr, double beta1, double beta2, double eps,
                             double weight_decay, bool amsgrad, bool maximize) {
  return optim::adam(params, {lr, beta1, beta2, eps, weight_decay, false, maximize}, amsgrad);
}

Ref<flam_optimizer> adamw_new(TensorsView params, double lr, double beta1, double beta2, double eps,
                              double weight_decay, bool amsgrad, bool maximize) {
  return optim::adam(params, {lr, beta1, beta2, eps, weight_decay, true, maximize}, amsgrad);
}

void optimizer_add_group(flam_optimizer* o, TensorsView params, double lr, double weight_decay) {
  o->add_group(params, lr, weight_decay);
}

void optimizer_step(flam_optimizer* o) { o->step(); }
void optimizer_zero_grad(flam_optimizer* o, bool set_to_none) { o->zero_grad(set_to_none); }
size_t optimizer_group_count(const flam_optimizer* o) { return o->groups.size(); }

double optimizer_lr(const flam_optimizer* o, size_t group) {
  return group < o->groups.size() ? o->groups[group].lr : std::numeric_limits<double>::quiet_NaN();
}

void optimizer_set_lr(flam_optimizer* o, double lr, size_t group) {
  check(group < o->groups.size(), Code::index, "group ", group, " is out of range: there are ",
        o->groups.size());
  check(lr >= 0, Code::invalid_argument, "Invalid learning rate: ", lr);
  o->groups[group].lr = lr;
}

Ref<flam_state> optimizer_state_dict(const flam_optimizer* o) { return o->state_dict(); }
void optimizer_load_state_dict(flam_optimizer* o, const flam_state* state) {
  o->load_state_dict(*state);
}

Ref<flam_scheduler> step_lr_new(flam_optimizer* o, int64_t step_size, double gamma) {
  return optim::step_lr(Ref<flam_optimizer>::share(o), step_size, gamma);
}

Ref<flam_scheduler> cosine_annealing_lr_new(flam_optimizer* o, int64_t t_max, double eta_min) {
  return optim::cosine_annealing_lr(Ref<flam_optimizer>::share(o), t_max, eta_min);
}

void scheduler_step(flam_scheduler* s) { s->step(); }

}  // namespace flambeau::capi
