// Optimizer steps over lists of tensors that the caller keeps, at the ABI.
#include "base/error.h"
#include "capi/gen/targets.h"
#include "capi/rule_options.h"
#include "optim/step.h"

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
  for (Parameter& p : list) p.fresh = first_step;
  optim::step_list("SGD", kSgdRule, list,
                   options_of({{kOptLr, lr},
                               {kOptMomentum, momentum},
                               {kOptDampening, dampening},
                               {kOptWeightDecay, weight_decay},
                               {kOptNesterov, double(nesterov)},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

void adam_step(TensorsView params, TensorsView grads, TensorsView exp_avgs, TensorsView exp_avg_sqs,
               TensorsView max_exp_avg_sqs, TensorsView steps, double lr, double beta1,
               double beta2, double eps, double weight_decay, bool decoupled, bool maximize,
               const Tensor& grad_scale, const Tensor& found_inf) {
  const ParameterList list = parameter_list("adam_step", params, grads,
                                            {{&Parameter::first, exp_avgs},
                                             {&Parameter::second, exp_avg_sqs},
                                             {&Parameter::third, max_exp_avg_sqs},
                                             {&Parameter::step, steps}});
  optim::step_list("Adam", kAdamRule, list,
                   options_of({{kOptLr, lr},
                               {kOptBeta1, beta1},
                               {kOptBeta2, beta2},
                               {kOptEps, eps},
                               {kOptWeightDecay, weight_decay},
                               {kOptDecoupled, double(decoupled)},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

void rmsprop_step(TensorsView params, TensorsView grads, TensorsView square_avgs,
                  TensorsView momentum_buffers, TensorsView grad_avgs, TensorsView steps, double lr,
                  double alpha, double eps, double weight_decay, double momentum, bool maximize,
                  const Tensor& grad_scale, const Tensor& found_inf) {
  const ParameterList list = parameter_list("rmsprop_step", params, grads,
                                            {{&Parameter::first, square_avgs},
                                             {&Parameter::second, momentum_buffers},
                                             {&Parameter::third, grad_avgs},
                                             {&Parameter::step, steps}});
  optim::step_list("RMSprop", kRmsPropRule, list,
                   options_of({{kOptLr, lr},
                               {kOptAlpha, alpha},
                               {kOptEps, eps},
                               {kOptWeightDecay, weight_decay},
                               {kOptRmsMomentum, momentum},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

void adagrad_step(TensorsView params, TensorsView grads, TensorsView sums, TensorsView steps,
                  double lr, double lr_decay, double weight_decay, double eps, bool maximize,
                  const Tensor& grad_scale, const Tensor& found_inf) {
  const ParameterList list = parameter_list("adagrad_step", params, grads,
                                            {{&Parameter::first, sums}, {&Parameter::step, steps}});
  optim::step_list("Adagrad", kAdagradRule, list,
                   options_of({{kOptLr, lr},
                               {kOptLrDecay, lr_decay},
                               {kOptWeightDecay, weight_decay},
                               {kOptEps, eps},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

void adadelta_step(TensorsView params, TensorsView grads, TensorsView square_avgs,
                   TensorsView acc_deltas, TensorsView steps, double lr, double rho, double eps,
                   double weight_decay, bool maximize, const Tensor& grad_scale,
                   const Tensor& found_inf) {
  const ParameterList list = parameter_list("adadelta_step", params, grads,
                                            {{&Parameter::first, square_avgs},
                                             {&Parameter::second, acc_deltas},
                                             {&Parameter::step, steps}});
  optim::step_list("Adadelta", kAdadeltaRule, list,
                   options_of({{kOptLr, lr},
                               {kOptRho, rho},
                               {kOptEps, eps},
                               {kOptWeightDecay, weight_decay},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

void adamax_step(TensorsView params, TensorsView grads, TensorsView exp_avgs, TensorsView exp_infs,
                 TensorsView steps, double lr, double beta1, double beta2, double eps,
                 double weight_decay, bool maximize, const Tensor& grad_scale,
                 const Tensor& found_inf) {
  const ParameterList list = parameter_list(
      "adamax_step", params, grads,
      {{&Parameter::first, exp_avgs}, {&Parameter::second, exp_infs}, {&Parameter::step, steps}});
  optim::step_list("Adamax", kAdamaxRule, list,
                   options_of({{kOptLr, lr},
                               {kOptBeta1, beta1},
                               {kOptBeta2, beta2},
                               {kOptEps, eps},
                               {kOptWeightDecay, weight_decay},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

void nadam_step(TensorsView params, TensorsView grads, TensorsView exp_avgs,
                TensorsView exp_avg_sqs, TensorsView mu_products, TensorsView steps, double lr,
                double beta1, double beta2, double eps, double weight_decay, double momentum_decay,
                bool decoupled_weight_decay, bool maximize, const Tensor& grad_scale,
                const Tensor& found_inf) {
  const ParameterList list = parameter_list("nadam_step", params, grads,
                                            {{&Parameter::first, exp_avgs},
                                             {&Parameter::second, exp_avg_sqs},
                                             {&Parameter::cell, mu_products},
                                             {&Parameter::step, steps}});
  optim::step_list("NAdam", kNadamRule, list,
                   options_of({{kOptLr, lr},
                               {kOptBeta1, beta1},
                               {kOptBeta2, beta2},
                               {kOptEps, eps},
                               {kOptWeightDecay, weight_decay},
                               {kOptMomentumDecay, momentum_decay},
                               {kOptDecoupled, double(decoupled_weight_decay)},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

void radam_step(TensorsView params, TensorsView grads, TensorsView exp_avgs,
                TensorsView exp_avg_sqs, TensorsView steps, double lr, double beta1, double beta2,
                double eps, double weight_decay, bool decoupled_weight_decay, bool maximize,
                const Tensor& grad_scale, const Tensor& found_inf) {
  const ParameterList list = parameter_list("radam_step", params, grads,
                                            {{&Parameter::first, exp_avgs},
                                             {&Parameter::second, exp_avg_sqs},
                                             {&Parameter::step, steps}});
  optim::step_list("RAdam", kRadamRule, list,
                   options_of({{kOptLr, lr},
                               {kOptBeta1, beta1},
                               {kOptBeta2, beta2},
                               {kOptEps, eps},
                               {kOptWeightDecay, weight_decay},
                               {kOptDecoupled, double(decoupled_weight_decay)},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

void asgd_step(TensorsView params, TensorsView grads, TensorsView axs, TensorsView etas,
               TensorsView mus, TensorsView steps, double lr, double lambd, double alpha, double t0,
               double weight_decay, bool maximize, const Tensor& grad_scale,
               const Tensor& found_inf) {
  const ParameterList list = parameter_list("asgd_step", params, grads,
                                            {{&Parameter::first, axs},
                                             {&Parameter::cell, etas},
                                             {&Parameter::cell2, mus},
                                             {&Parameter::step, steps}});
  optim::step_list("ASGD", kAsgdRule, list,
                   options_of({{kOptLr, lr},
                               {kOptLambd, lambd},
                               {kOptAsgdAlpha, alpha},
                               {kOptT0, t0},
                               {kOptWeightDecay, weight_decay},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

void rprop_step(TensorsView params, TensorsView grads, TensorsView prevs, TensorsView step_sizes,
                TensorsView steps, double etaminus, double etaplus, double step_size_min,
                double step_size_max, bool maximize, const Tensor& grad_scale,
                const Tensor& found_inf) {
  const ParameterList list = parameter_list(
      "rprop_step", params, grads,
      {{&Parameter::first, prevs}, {&Parameter::second, step_sizes}, {&Parameter::step, steps}});
  optim::step_list("Rprop", kRpropRule, list,
                   options_of({{kOptEtaMinus, etaminus},
                               {kOptEtaPlus, etaplus},
                               {kOptStepMin, step_size_min},
                               {kOptStepMax, step_size_max},
                               {kOptMaximize, double(maximize)}}),
                   {{}, grad_scale, found_inf});
}

}  // namespace flambeau::capi
