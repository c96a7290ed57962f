// Schedules that go up and down, the momentum against them: CyclicLR and OneCycleLR.
#include <cmath>

#include "base/error.h"
#include "optim/schedule.h"
#include "optim/schedule_rates.h"

namespace flambeau::optim {

namespace {

// The option that a momentum is kept in.
const char* momentum_of(flam_optimizer& o, bool wanted) {
  if (!wanted) return nullptr;
  for (const char* name : {"beta1", "momentum"}) {
    if (o.option(name, 0)) return name;
  }
  fail(Code::invalid_argument,
       "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
}

class CyclicLr final : public flam_scheduler {
 public:
  CyclicLr(Scheduled o, const CyclicOptions& options)
      : flam_scheduler(std::move(o)),
        o_(options),
        momentum_(momentum_of(*optimizer_, o_.cycle_momentum)) {
    total_ = o_.up + o_.down;
    ratio_ = o_.up / total_;
    for (double& base : base_) base = o_.base_lr;
  }

  double rate(size_t g, double) override {
    const double cycle = std::floor(1 + epoch_ / total_);
    const double scale = o_.mode == Cycle::triangular    ? 1.0
                         : o_.mode == Cycle::triangular2 ? 1 / std::pow(2.0, cycle - 1)
                                                         : std::pow(o_.gamma, epoch_);
    const auto between = [&](double from, double to) {
      const double values[] = {total_, ratio_, to, scale};
      return closed_rate(Schedule::cyclic, values, {0, from, epoch_});
    };
    if (momentum_) {
      *optimizer_->option(momentum_, g) = between(o_.max_momentum, o_.base_momentum);
    }
    return between(base_[g], o_.max_lr);
  }

 private:
  CyclicOptions o_;
  const char* momentum_;
  double total_, ratio_;
};

class OneCycleLr final : public flam_scheduler {
 public:
  OneCycleLr(Scheduled o, const OneCycleOptions& options)
      : flam_scheduler(std::move(o)),
        o_(options),
        momentum_(momentum_of(*optimizer_, o_.cycle_momentum)) {
    const double first = o_.max_lr / o_.div_factor, least = first / o_.final_div_factor;
    const double total = double(o_.total_steps), high = o_.max_momentum, low = o_.base_momentum;
    phases_.push_back({o_.pct_start * total - 1, first, o_.max_lr, high, low});
    if (o_.three_phase) {
      phases_.push_back({2 * o_.pct_start * total - 2, o_.max_lr, first, low, high});
      phases_.push_back({total - 1, first, least, high, high});
    } else {
      phases_.push_back({total - 1, o_.max_lr, least, low, high});
    }
    for (size_t i = 0; i < base_.size(); ++i) {
      base_[i] = optimizer_->groups[i].initial_lr = first;
    }
  }

  double rate(size_t g, double) override {
    check(epoch_ <= double(o_.total_steps), Code::invalid_argument, "Tried to step ",
          int64_t(epoch_), " times. The specified number of total steps is ", o_.total_steps);
    double start = 0;
    size_t i = 0;
    for (; i + 1 < phases_.size() && epoch_ > phases_[i].end; ++i) start = phases_[i].end;
    const Phase& p = phases_[i];
    const auto between = [&](double from, double to) {
      const double values[] = {to, start, p.end};
      return closed_rate(o_.linear ? Schedule::anneal_linear : Schedule::anneal_cosine, values,
                         {0, from, epoch_});
    };
    if (momentum_) *optimizer_->option(momentum_, g) = between(p.from_momentum, p.to_momentum);
    return between(p.from, p.to);
  }

 private:
  struct Phase {
    double end, from, to, from_momentum, to_momentum;
  };

  OneCycleOptions o_;
  const char* momentum_;
  std::vector<Phase> phases_;
};

}  // namespace

Ref<flam_scheduler> cyclic_lr(Scheduled o, const CyclicOptions& options) {
  check(options.up > 0 && options.down > 0, Code::invalid_argument,
        "step sizes of a cycle must be positive, got ", options.up, " and ", options.down);
  auto s = make_ref<CyclicLr>(o, options);
  for (auto& g : o->groups) g.options[kOptLr] = g.initial_lr = options.base_lr;
  s->begin();
  return s;
}

Ref<flam_scheduler> one_cycle_lr(Scheduled o, const OneCycleOptions& options) {
  check(options.total_steps > 0, Code::invalid_argument,
        "Expected positive integer total_steps, but got ", options.total_steps);
  check(options.pct_start >= 0 && options.pct_start <= 1, Code::invalid_argument,
        "Expected float between 0 and 1 pct_start, but got ", options.pct_start);
  auto s = make_ref<OneCycleLr>(std::move(o), options);
  s->begin();
  return s;
}

}  // namespace flambeau::optim
