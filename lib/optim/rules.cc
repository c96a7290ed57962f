// The table of rules: names of options and of state as torch.optim spells them, and the bounds that
// its constructors hold.
#include "base/error.h"
#include "optim/matrix_rules.h"
#include "optim/rule.h"

namespace flambeau::optim {

namespace {

void at_least_zero(const char* what, double value) {
  check(value >= 0, Code::invalid_argument, "Invalid ", what, ": ", value);
}

void check_common(const RuleOptions& o) {
  at_least_zero("learning rate", o[kOptLr]);
  at_least_zero("epsilon value", o[kOptEps]);
  at_least_zero("weight_decay value", o[kOptWeightDecay]);
}

void check_betas(const RuleOptions& o) {
  check_common(o);
  for (int i = 0; i < 2; ++i) {
    const double beta = o[size_t(kOptBeta1 + i)];
    check(beta >= 0 && beta < 1, Code::invalid_argument, "Invalid beta parameter at index ", i,
          ": ", beta);
  }
}

void check_sgd(const RuleOptions& o) {
  check_common(o);
  at_least_zero("momentum value", o[kOptMomentum]);
  check(o[kOptNesterov] == 0 || (o[kOptMomentum] > 0 && o[kOptDampening] == 0),
        Code::invalid_argument, "Nesterov momentum requires a momentum and zero dampening");
}

void check_rmsprop(const RuleOptions& o) {
  check_common(o);
  at_least_zero("momentum value", o[kOptRmsMomentum]);
  at_least_zero("alpha value", o[kOptAlpha]);
}

void check_adagrad(const RuleOptions& o) {
  check_common(o);
  at_least_zero("lr_decay value", o[kOptLrDecay]);
  at_least_zero("initial_accumulator_value value", o[kOptAccumulator]);
}

void check_adadelta(const RuleOptions& o) {
  check_common(o);
  check(o[kOptRho] >= 0 && o[kOptRho] <= 1, Code::invalid_argument,
        "Invalid rho value: ", o[kOptRho]);
}

void check_nadam(const RuleOptions& o) {
  check_betas(o);
  at_least_zero("momentum_decay value", o[kOptMomentumDecay]);
}

void check_asgd(const RuleOptions& o) {
  check_common(o);
  at_least_zero("lambd value", o[kOptLambd]);
  at_least_zero("alpha value", o[kOptAsgdAlpha]);
}

void check_adafactor(const RuleOptions& o) {
  const auto at_least = [](const char* what, double value, double least) {
    check(!(value < least), Code::invalid_argument, what, " should be >= ", least,
          " but is: ", value);
  };
  at_least("Learning rate", o[kOptLr], 0);
  check(o[kOptBeta2Decay] <= 0, Code::invalid_argument,
        "beta2_decay should be <= 0 but is: ", o[kOptBeta2Decay]);
  at_least("epsilon1", o[kOptEps1], 0);
  at_least("epsilon2", o[kOptEps2], 0);
  at_least("Clipping threshold d", o[kOptClip], 1);
  at_least("weight_decay", o[kOptWeightDecay], 0);
}

void check_muon(const RuleOptions& o) {
  check_common(o);
  at_least_zero("momentum value", o[kOptMuonMomentum]);
  const double steps = o[kOptNsSteps], form = o[kOptAdjustLr];
  check(steps >= 0 && steps < 100, Code::invalid_argument, "Invalid ns_steps: ", steps,
        "; they are less than 100");
  check(form == 1 || form == 2 || form == 3, Code::invalid_argument, "unknown adjust_lr_fn ", form);
}

void check_matrix(const Tensor& param) {
  check(param.dim() == 2, Code::invalid_argument,
        "Muon only supports 2D parameters whereas we found a parameter with size: ",
        ShapeText{param.sizes()}, "; give the others to another optimizer");
}

void check_rprop(const RuleOptions& o) {
  check_common(o);
  const double minus = o[kOptEtaMinus], plus = o[kOptEtaPlus];
  check(minus > 0 && minus < 1 && plus > 1, Code::invalid_argument, "Invalid eta values: ", minus,
        ", ", plus);
}

using P = Parameter;
const Slot kStep{"step", &P::step, StateShape::cell};
const Slot kExpAvg{"exp_avg", &P::first}, kExpAvgSq{"exp_avg_sq", &P::second};
const std::vector<Slot> kAdamSlots{
    kStep, kExpAvg, kExpAvgSq, {"max_exp_avg_sq", &P::third, StateShape::like, kOptAmsgrad}};

}  // namespace

const Rule kSgdTable{
    "SGD",
    &kSgd,
    {"lr", "weight_decay", "maximize", "", "momentum", "dampening", "nesterov"},
    {{"momentum_buffer", &P::first, StateShape::like, kOptMomentum}},
    &check_sgd,
    [](const RuleOptions& o) { return o[kOptMomentum] != 0 && o[kOptDampening] != 0; }};
const Rule kAdamTable{"Adam",
                      &kAdam,
                      {"lr", "weight_decay", "maximize", "eps", "beta1", "beta2",
                       "decoupled_weight_decay", "amsgrad"},
                      kAdamSlots,
                      &check_betas};
const Rule kAdamWTable{"AdamW", &kAdam, kAdamTable.options, kAdamSlots, &check_betas};
const Rule kRmsPropTable{"RMSprop",
                         &kRmsProp,
                         {"lr", "weight_decay", "maximize", "eps", "alpha", "momentum", "centered"},
                         {kStep,
                          {"square_avg", &P::first},
                          {"momentum_buffer", &P::second, StateShape::like, kOptRmsMomentum},
                          {"grad_avg", &P::third, StateShape::like, kOptCentered}},
                         &check_rmsprop};
const Rule kAdagradTable{
    "Adagrad",
    &kAdagrad,
    {"lr", "weight_decay", "maximize", "eps", "lr_decay", "initial_accumulator_value"},
    {kStep, {"sum", &P::first, StateShape::like, -1, kOptAccumulator}},
    &check_adagrad};
const Rule kAdadeltaTable{"Adadelta",
                          &kAdadelta,
                          {"lr", "weight_decay", "maximize", "eps", "rho"},
                          {kStep, {"square_avg", &P::first}, {"acc_delta", &P::second}},
                          &check_adadelta};
const Rule kAdamaxTable{"Adamax",
                        &kAdamax,
                        {"lr", "weight_decay", "maximize", "eps", "beta1", "beta2"},
                        {kStep, kExpAvg, {"exp_inf", &P::second}},
                        &check_betas};
const Rule kNadamTable{
    "NAdam",
    &kNadam,
    {"lr", "weight_decay", "maximize", "eps", "beta1", "beta2", "decoupled_weight_decay",
     "momentum_decay"},
    {kStep, {"mu_product", &P::cell, StateShape::cell, -1, -1, 1}, kExpAvg, kExpAvgSq},
    &check_nadam};
const Rule kRadamTable{
    "RAdam",
    &kRadam,
    {"lr", "weight_decay", "maximize", "eps", "beta1", "beta2", "decoupled_weight_decay"},
    {kStep, kExpAvg, kExpAvgSq},
    &check_betas};
const Rule kAsgdTable{"ASGD",
                      &kAsgd,
                      {"lr", "weight_decay", "maximize", "", "lambd", "alpha", "t0"},
                      {kStep,
                       {"eta", &P::cell, StateShape::cell, -1, kOptLr},
                       {"mu", &P::cell2, StateShape::cell, -1, -1, 1},
                       {"ax", &P::first}},
                      &check_asgd};
const Rule kRpropTable{
    "Rprop",
    &kRprop,
    {"lr", "", "maximize", "", "etaminus", "etaplus", "step_size_min", "step_size_max"},
    {kStep, {"prev", &P::first}, {"step_size", &P::second, StateShape::like, -1, kOptLr}},
    &check_rprop};
const Rule kAdafactorTable{
    "Adafactor",
    nullptr,
    {"lr", "weight_decay", "maximize", "", "eps1", "eps2", "beta2_decay", "d"},
    {kStep,
     {"row_var", &P::first, StateShape::rows},
     {"col_var", &P::second, StateShape::columns},
     {"variance", &P::third, StateShape::vector}},
    &check_adafactor,
    nullptr,
    &step_adafactor};
const Rule kMuonTable{"Muon",
                      nullptr,
                      {"lr", "weight_decay", "", "eps", "momentum", "nesterov", "ns_a", "ns_b",
                       "ns_c", "ns_steps", "adjust_lr_fn"},
                      {{"momentum_buffer", &P::first}},
                      &check_muon,
                      nullptr,
                      &step_muon,
                      &check_matrix};

}  // namespace flambeau::optim
