// Targets of schedule.h: numbers become the formulas of lib/optim; a rate that the program computes
// is called as any callback, and dropped once with its schedule.
#include "optim/schedule.h"

#include <limits>
#include <memory>

#include "base/error.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "optim/schedule_rates.h"

namespace flambeau::capi {

namespace {

optim::Scheduled kept(flam_optimizer* o) { return Ref<flam_optimizer>::share(o); }

// The program's function as the engine calls it; its data goes with the last copy.
optim::Factor factor_of(const flam_rate_callback* given) {
  const flam_rate_callback table = sized_copy(given, "flam_rate_callback");
  auto owner = std::make_shared<Callback>(table.user, table.drop);
  check(table.call, Code::invalid_argument, "flam_rate_callback: call is missing");
  return [table, owner](int64_t epoch, size_t group) {
    double factor = 0;
    const HostCall call;
    call.check("a schedule's function", table.call(table.user, epoch, group, &factor));
    return factor;
  };
}

}  // namespace

Ref<flam_scheduler> step_lr_new(flam_optimizer* o, int64_t step_size, double gamma) {
  return optim::step_lr(kept(o), step_size, gamma);
}

Ref<flam_scheduler> multi_step_lr_new(flam_optimizer* o, DimsView milestones, double gamma) {
  return optim::multi_step_lr(kept(o), {milestones.begin(), milestones.end()}, gamma);
}

Ref<flam_scheduler> constant_lr_new(flam_optimizer* o, double factor, int64_t total_iters) {
  return optim::constant_lr(kept(o), factor, total_iters);
}

Ref<flam_scheduler> linear_lr_new(flam_optimizer* o, double start, double end,
                                  int64_t total_iters) {
  return optim::linear_lr(kept(o), start, end, total_iters);
}

Ref<flam_scheduler> exponential_lr_new(flam_optimizer* o, double gamma) {
  return optim::exponential_lr(kept(o), gamma);
}

Ref<flam_scheduler> polynomial_lr_new(flam_optimizer* o, int64_t total_iters, double power) {
  return optim::polynomial_lr(kept(o), total_iters, power);
}

Ref<flam_scheduler> cosine_annealing_lr_new(flam_optimizer* o, int64_t t_max, double eta_min) {
  return optim::cosine_annealing_lr(kept(o), t_max, eta_min);
}

Ref<flam_scheduler> cosine_annealing_warm_restarts_new(flam_optimizer* o, int64_t t_0,
                                                       int64_t t_mult, double eta_min) {
  return optim::cosine_warm_restarts(kept(o), t_0, t_mult, eta_min);
}

Ref<flam_scheduler> cyclic_lr_new(flam_optimizer* o, double base_lr, double max_lr, double up,
                                  double down, flam_cycle mode, double gamma, bool cycle_momentum,
                                  double base_momentum, double max_momentum) {
  const auto shape = mode == FLAM_CYCLE_TRIANGULAR2 ? optim::Cycle::triangular2
                     : mode == FLAM_CYCLE_EXP_RANGE ? optim::Cycle::exp_range
                                                    : optim::Cycle::triangular;
  return optim::cyclic_lr(kept(o), {base_lr, max_lr, up, down == 0 ? up : down, gamma, shape,
                                    cycle_momentum, base_momentum, max_momentum});
}

Ref<flam_scheduler> one_cycle_lr_new(flam_optimizer* o, double max_lr, int64_t total_steps,
                                     double pct_start, bool linear, bool cycle_momentum,
                                     double base_momentum, double max_momentum, double div_factor,
                                     double final_div_factor, bool three_phase) {
  return optim::one_cycle_lr(
      kept(o), {max_lr, total_steps, pct_start, linear, cycle_momentum, base_momentum, max_momentum,
                div_factor, final_div_factor, three_phase});
}

Ref<flam_scheduler> lambda_lr_new(flam_optimizer* o, const flam_rate_callback* factor) {
  return optim::lambda_lr(kept(o), factor_of(factor));
}

Ref<flam_scheduler> multiplicative_lr_new(flam_optimizer* o, const flam_rate_callback* factor) {
  return optim::multiplicative_lr(kept(o), factor_of(factor));
}

Ref<flam_scheduler> reduce_lr_on_plateau_new(flam_optimizer* o, bool maximize, double factor,
                                             int64_t patience, double threshold, bool absolute,
                                             int64_t cooldown, double min_lr, double eps) {
  return optim::reduce_on_plateau(
      kept(o), {maximize, absolute, factor, threshold, min_lr, eps, patience, cooldown});
}

Ref<flam_scheduler> sequential_lr_new(flam_scheduler* first) {
  return optim::sequential_lr(Ref<flam_scheduler>::share(first));
}

Ref<flam_scheduler> chained_lr_new(flam_scheduler* first) {
  return optim::chained_lr(Ref<flam_scheduler>::share(first));
}

void scheduler_append(flam_scheduler* s, flam_scheduler* next, int64_t milestone) {
  check(s != next, Code::invalid_argument, "a schedule cannot be part of itself");
  s->append(Ref<flam_scheduler>::share(next), milestone);
}

void scheduler_step(flam_scheduler* s) { s->step(); }
void scheduler_step_metric(flam_scheduler* s, double metric) { s->step(metric); }

double scheduler_last_lr(const flam_scheduler* s, size_t group) {
  const std::vector<double>& rates = s->last_rates();
  return group < rates.size() ? rates[group] : std::numeric_limits<double>::quiet_NaN();
}

Ref<flam_state> scheduler_state_dict(const flam_scheduler* s) {
  return const_cast<flam_scheduler*>(s)->state_dict();
}

void scheduler_load_state_dict(flam_scheduler* s, const flam_state* state) {
  s->load_state_dict(*state);
}

double schedule_rate(int32_t schedule, double now, double base, double epoch,
                     std::span<const double> values, bool closed, bool initial) {
  optim::check_schedule(schedule, values);
  const optim::Schedule form{schedule};
  const optim::Moment moment{now, base, epoch, initial};
  return closed ? optim::closed_rate(form, values, moment)
                : optim::chained_rate(form, values, moment);
}

}  // namespace flambeau::capi
