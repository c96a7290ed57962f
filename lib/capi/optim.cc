// Targets of optim.h: optimizers that own their state, made of a rule and its options by number.
#include "optim/optimizer.h"

#include <limits>

#include "base/error.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "optim/lbfgs.h"

namespace flambeau::capi {

static RuleOptions options_of(std::initializer_list<std::pair<int, double>> given) {
  RuleOptions o{};
  for (const auto& [place, value] : given) o[size_t(place)] = value;
  return o;
}

Tensor clip_grad_norm_(TensorsView params, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  return optim::clip_grad_norm(params, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(TensorsView params, double clip_value) {
  optim::clip_grad_value(params, clip_value);
}

Ref<flam_optimizer> sgd_new(TensorsView params, double lr, double momentum, double dampening,
                            double weight_decay, bool nesterov, bool maximize) {
  return optim::make_optimizer(optim::kSgdTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptMomentum, momentum},
                                           {kOptDampening, dampening},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptNesterov, double(nesterov)},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> adam_new(TensorsView params, double lr, double beta1, double beta2, double eps,
                             double weight_decay, bool amsgrad, bool maximize) {
  return optim::make_optimizer(optim::kAdamTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptBeta1, beta1},
                                           {kOptBeta2, beta2},
                                           {kOptEps, eps},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptDecoupled, 0},
                                           {kOptAmsgrad, double(amsgrad)},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> adamw_new(TensorsView params, double lr, double beta1, double beta2, double eps,
                              double weight_decay, bool amsgrad, bool maximize) {
  return optim::make_optimizer(optim::kAdamWTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptBeta1, beta1},
                                           {kOptBeta2, beta2},
                                           {kOptEps, eps},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptDecoupled, 1},
                                           {kOptAmsgrad, double(amsgrad)},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> rmsprop_new(TensorsView params, double lr, double alpha, double eps,
                                double weight_decay, double momentum, bool centered,
                                bool maximize) {
  return optim::make_optimizer(optim::kRmsPropTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptAlpha, alpha},
                                           {kOptEps, eps},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptRmsMomentum, momentum},
                                           {kOptCentered, double(centered)},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> adagrad_new(TensorsView params, double lr, double lr_decay, double weight_decay,
                                double initial_accumulator_value, double eps, bool maximize) {
  return optim::make_optimizer(optim::kAdagradTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptLrDecay, lr_decay},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptAccumulator, initial_accumulator_value},
                                           {kOptEps, eps},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> adadelta_new(TensorsView params, double lr, double rho, double eps,
                                 double weight_decay, bool maximize) {
  return optim::make_optimizer(optim::kAdadeltaTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptRho, rho},
                                           {kOptEps, eps},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> adamax_new(TensorsView params, double lr, double beta1, double beta2,
                               double eps, double weight_decay, bool maximize) {
  return optim::make_optimizer(optim::kAdamaxTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptBeta1, beta1},
                                           {kOptBeta2, beta2},
                                           {kOptEps, eps},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> nadam_new(TensorsView params, double lr, double beta1, double beta2, double eps,
                              double weight_decay, double momentum_decay,
                              bool decoupled_weight_decay, bool maximize) {
  return optim::make_optimizer(optim::kNadamTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptBeta1, beta1},
                                           {kOptBeta2, beta2},
                                           {kOptEps, eps},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptMomentumDecay, momentum_decay},
                                           {kOptDecoupled, double(decoupled_weight_decay)},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> radam_new(TensorsView params, double lr, double beta1, double beta2, double eps,
                              double weight_decay, bool decoupled_weight_decay, bool maximize) {
  return optim::make_optimizer(optim::kRadamTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptBeta1, beta1},
                                           {kOptBeta2, beta2},
                                           {kOptEps, eps},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptDecoupled, double(decoupled_weight_decay)},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> asgd_new(TensorsView params, double lr, double lambd, double alpha, double t0,
                             double weight_decay, bool maximize) {
  return optim::make_optimizer(optim::kAsgdTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptLambd, lambd},
                                           {kOptAsgdAlpha, alpha},
                                           {kOptT0, t0},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> rprop_new(TensorsView params, double lr, double etaminus, double etaplus,
                              double step_size_min, double step_size_max, bool maximize) {
  return optim::make_optimizer(optim::kRpropTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptEtaMinus, etaminus},
                                           {kOptEtaPlus, etaplus},
                                           {kOptStepMin, step_size_min},
                                           {kOptStepMax, step_size_max},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> adafactor_new(TensorsView params, double lr, double beta2_decay,
                                  std::optional<double> eps1, double eps2, double d,
                                  double weight_decay, bool maximize) {
  constexpr double kOfDtype = std::numeric_limits<double>::quiet_NaN();
  return optim::make_optimizer(optim::kAdafactorTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptBeta2Decay, beta2_decay},
                                           {kOptEps1, eps1.value_or(kOfDtype)},
                                           {kOptEps2, eps2},
                                           {kOptClip, d},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptMaximize, double(maximize)}}));
}

Ref<flam_optimizer> muon_new(TensorsView params, double lr, double weight_decay, double momentum,
                             bool nesterov, double ns_a, double ns_b, double ns_c, double eps,
                             int64_t ns_steps, int32_t adjust_lr_fn) {
  return optim::make_optimizer(optim::kMuonTable, params,
                               options_of({{kOptLr, lr},
                                           {kOptWeightDecay, weight_decay},
                                           {kOptMuonMomentum, momentum},
                                           {kOptMuonNesterov, double(nesterov)},
                                           {kOptNsA, ns_a},
                                           {kOptNsB, ns_b},
                                           {kOptNsC, ns_c},
                                           {kOptEps, eps},
                                           {kOptNsSteps, double(ns_steps)},
                                           {kOptAdjustLr, double(adjust_lr_fn)}}));
}

Ref<flam_optimizer> lbfgs_new(TensorsView params, double lr, int64_t max_iter, int64_t max_eval,
                              double tolerance_grad, double tolerance_change, int64_t history_size,
                              bool strong_wolfe, bool maximize) {
  return optim::lbfgs(
      params, options_of({{kOptLr, lr},
                          {optim::kLbfgsMaxIter, double(max_iter)},
                          {optim::kLbfgsMaxEval, double(max_eval ? max_eval : max_iter * 5 / 4)},
                          {optim::kLbfgsGrad, tolerance_grad},
                          {optim::kLbfgsChange, tolerance_change},
                          {optim::kLbfgsHistory, double(history_size)},
                          {optim::kLbfgsWolfe, double(strong_wolfe)},
                          {kOptMaximize, double(maximize)}}));
}

void optimizer_add_group(flam_optimizer* o, TensorsView params, double lr, double weight_decay) {
  RuleOptions options = o->groups[0].options;
  options[kOptLr] = lr;
  options[kOptWeightDecay] = weight_decay;
  o->add_group(params, options);
}

void optimizer_step(flam_optimizer* o) { o->step(); }

double optimizer_step_closure(flam_optimizer* o, const flam_closure* given) {
  const flam_closure table = sized_copy(given, "flam_closure");
  const Callback owner(table.user, table.drop);
  check(table.call, Code::invalid_argument, "flam_closure: call is missing");
  return o->step_closure([&] {
    double loss = 0;
    const HostCall call;
    call.check("an optimizer's closure", table.call(table.user, &loss));
    return loss;
  });
}

void optimizer_zero_grad(flam_optimizer* o, bool set_to_none) { o->zero_grad(set_to_none); }
size_t optimizer_group_count(const flam_optimizer* o) { return o->groups.size(); }

double optimizer_option(const flam_optimizer* o, std::string_view name, size_t group) {
  return *const_cast<flam_optimizer*>(o)->option_place(name, group);
}

void optimizer_set_option(flam_optimizer* o, std::string_view name, double value, size_t group) {
  o->set_option(name, value, group);
}

double optimizer_lr(const flam_optimizer* o, size_t group) {
  return group < o->groups.size() ? o->groups[group].options[kOptLr]
                                  : std::numeric_limits<double>::quiet_NaN();
}

void optimizer_set_lr(flam_optimizer* o, double lr, size_t group) {
  o->set_option("lr", lr, group);
}

Ref<flam_state> optimizer_state_dict(const flam_optimizer* o) { return o->state_dict(); }
void optimizer_load_state_dict(flam_optimizer* o, const flam_state* state) {
  o->load_state_dict(*state);
}

}  // namespace flambeau::capi
