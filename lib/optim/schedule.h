// Learning rate schedules over an optimizer's groups. A schedule gives the next rates from the
// present ones, in the order of operations of torch.optim.lr_scheduler, so that rates agree to the
// last bit; the closed form, from the first rates, serves a jump to an epoch.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "optim/optimizer.h"

// The ABI's opaque type, hence outside the namespace.
struct flam_scheduler : flambeau::RefCounted {
  // Numbers that a schedule must keep to go on where it stood, by name.
  using Visit = std::function<void(const std::string& name, std::vector<double*> values)>;

  explicit flam_scheduler(flambeau::Ref<flam_optimizer> optimizer);

  virtual void begin();  // sets the rates of epoch 0
  virtual void step();   // one epoch further
  virtual void step(double metric);
  virtual void jump(int64_t epoch);  // by the closed form where there is one
  virtual void undo() { epoch_ -= 1; }
  virtual void append(flambeau::Ref<flam_scheduler> next, int64_t milestone);
  virtual bool needs_metric() const { return false; }
  virtual void visit(const std::string& prefix, const Visit& v);

  flambeau::Ref<flambeau::State> state_dict();
  void load_state_dict(const flambeau::State& state);
  const flambeau::Ref<flam_optimizer>& optimizer() const { return optimizer_; }
  const std::vector<double>& last_rates() const { return last_; }

 protected:
  virtual double rate(size_t group, double now) = 0;
  virtual double closed(size_t group, double now) { return rate(group, now); }
  void set_rates(bool by_closed_form);
  void remember_rates();

  flambeau::Ref<flam_optimizer> optimizer_;
  std::vector<double> base_, last_;
  double epoch_ = -1, steps_ = 0;  // whole numbers, double so that all state is of one kind
  bool initial_ = false;           // within begin()
};

namespace flambeau::optim {

// The factor of a rate at an epoch, from the program.
using Factor = std::function<double(int64_t epoch, size_t group)>;

struct PlateauOptions {
  bool maximize = false, absolute = false;
  double factor = 0.1, threshold = 1e-4, min_lr = 0, eps = 1e-8;
  int64_t patience = 10, cooldown = 0;
};
enum class Cycle : int8_t { triangular, triangular2, exp_range };
struct CyclicOptions {
  double base_lr, max_lr, up = 2000, down = 2000, gamma = 1;
  Cycle mode = Cycle::triangular;
  bool cycle_momentum = true;
  double base_momentum = 0.8, max_momentum = 0.9;
};
struct OneCycleOptions {
  double max_lr;
  int64_t total_steps;
  double pct_start = 0.3;
  bool linear = false, cycle_momentum = true;
  double base_momentum = 0.85, max_momentum = 0.95, div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;
};

using Scheduled = Ref<flam_optimizer>;
Ref<flam_scheduler> step_lr(Scheduled o, int64_t step_size, double gamma);
Ref<flam_scheduler> multi_step_lr(Scheduled o, std::vector<int64_t> milestones, double gamma);
Ref<flam_scheduler> constant_lr(Scheduled o, double factor, int64_t total_iters);
Ref<flam_scheduler> linear_lr(Scheduled o, double start, double end, int64_t total_iters);
Ref<flam_scheduler> exponential_lr(Scheduled o, double gamma);
Ref<flam_scheduler> polynomial_lr(Scheduled o, int64_t total_iters, double power);
Ref<flam_scheduler> lambda_lr(Scheduled o, Factor factor);
Ref<flam_scheduler> multiplicative_lr(Scheduled o, Factor factor);
Ref<flam_scheduler> cosine_annealing_lr(Scheduled o, int64_t t_max, double eta_min);
Ref<flam_scheduler> cosine_warm_restarts(Scheduled o, int64_t t_0, int64_t t_mult, double eta_min);
Ref<flam_scheduler> cyclic_lr(Scheduled o, const CyclicOptions& options);
Ref<flam_scheduler> one_cycle_lr(Scheduled o, const OneCycleOptions& options);
Ref<flam_scheduler> reduce_on_plateau(Scheduled o, const PlateauOptions& options);
Ref<flam_scheduler> sequential_lr(Ref<flam_scheduler> first);
Ref<flam_scheduler> chained_lr(Ref<flam_scheduler> first);

}  // namespace flambeau::optim
