// Schedules that are one formula of the epoch.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "optim/schedule.h"
#include "optim/schedule_rates.h"

namespace flambeau::optim {

namespace {

template <class S, class... A> Ref<flam_scheduler> started(A&&... args) {
  auto s = make_ref<S>(std::forward<A>(args)...);
  s->begin();
  return s;
}

class FormLr final : public flam_scheduler {
 public:
  FormLr(Scheduled o, Schedule form, std::vector<double> values)
      : flam_scheduler(std::move(o)), form_(form), values_(std::move(values)) {
    check_schedule(int32_t(form), values_);
  }
  double rate(size_t g, double now) override {
    return chained_rate(form_, values_, {now, base_[g], epoch_, initial_});
  }
  double closed(size_t g, double now) override {
    return closed_rate(form_, values_, {now, base_[g], epoch_, initial_});
  }

 private:
  Schedule form_;
  std::vector<double> values_;
};

class LambdaLr final : public flam_scheduler {
 public:
  LambdaLr(Scheduled o, Factor factor, bool on_now)
      : flam_scheduler(std::move(o)), factor_(std::move(factor)), on_now_(on_now) {}
  double rate(size_t g, double now) override {
    if (on_now_ && initial_) return now;
    return (on_now_ ? now : base_[g]) * factor_(int64_t(epoch_), g);
  }

 private:
  Factor factor_;
  bool on_now_;
};

class WarmRestarts final : public flam_scheduler {
 public:
  WarmRestarts(Scheduled o, int64_t t_0, int64_t t_mult, double least)
      : flam_scheduler(std::move(o)), length_(double(t_0)), grow_(double(t_mult)), least_(least) {}
  void step() override {
    steps_ += 1;
    if (epoch_ < 0) {
      epoch_ = at_ = 0;
    } else {
      epoch_ += 1;
      at_ += 1;
      if (at_ >= length_) {
        at_ -= length_;
        length_ *= grow_;
      }
    }
    set_rates(false);
  }
  double rate(size_t g, double) override {
    const double values[] = {length_, least_};
    return closed_rate(Schedule::cosine, values, {0, base_[g], at_});
  }
  void visit(const std::string& prefix, const Visit& v) override {
    flam_scheduler::visit(prefix, v);
    v(prefix + "T_cur", {&at_});
    v(prefix + "T_i", {&length_});
  }

 private:
  double length_, grow_, least_, at_ = -1;
};

Ref<flam_scheduler> by_form(Scheduled o, Schedule form, std::vector<double> values) {
  return started<FormLr>(std::move(o), form, std::move(values));
}

void check_share(const char* what, double value, bool zero) {
  check(value <= 1 && (zero ? value >= 0 : value > 0), Code::invalid_argument, what,
        " expected to be ", zero ? "between 0 and 1, got " : "greater than 0 and at most 1, got ",
        value);
}

void check_length(const char* what, int64_t value) {
  check(value >= 1, Code::invalid_argument, what, " must be at least 1, got ", value);
}

}  // namespace

Ref<flam_scheduler> step_lr(Scheduled o, int64_t step_size, double gamma) {
  check_length("step_size", step_size);
  return by_form(std::move(o), Schedule::step, {double(step_size), gamma});
}

Ref<flam_scheduler> multi_step_lr(Scheduled o, std::vector<int64_t> milestones, double gamma) {
  std::vector<double> values{gamma};
  values.insert(values.end(), milestones.begin(), milestones.end());
  return by_form(std::move(o), Schedule::multi_step, std::move(values));
}

Ref<flam_scheduler> constant_lr(Scheduled o, double factor, int64_t total_iters) {
  check_share("Constant multiplicative factor", factor, true);
  return by_form(std::move(o), Schedule::constant, {factor, double(total_iters)});
}

Ref<flam_scheduler> linear_lr(Scheduled o, double start, double end, int64_t total_iters) {
  check_share("Starting multiplicative factor", start, false);
  check_share("Ending multiplicative factor", end, true);
  check_length("total_iters", total_iters);
  return by_form(std::move(o), Schedule::linear, {start, end, double(total_iters)});
}

Ref<flam_scheduler> exponential_lr(Scheduled o, double gamma) {
  return by_form(std::move(o), Schedule::exponential, {gamma});
}

Ref<flam_scheduler> polynomial_lr(Scheduled o, int64_t total_iters, double power) {
  check_length("total_iters", total_iters);
  return by_form(std::move(o), Schedule::polynomial, {double(total_iters), power});
}

Ref<flam_scheduler> lambda_lr(Scheduled o, Factor factor) {
  return started<LambdaLr>(std::move(o), std::move(factor), false);
}

Ref<flam_scheduler> multiplicative_lr(Scheduled o, Factor factor) {
  return started<LambdaLr>(std::move(o), std::move(factor), true);
}

Ref<flam_scheduler> cosine_annealing_lr(Scheduled o, int64_t t_max, double eta_min) {
  check_length("t_max", t_max);
  return by_form(std::move(o), Schedule::cosine, {double(t_max), eta_min});
}

Ref<flam_scheduler> cosine_warm_restarts(Scheduled o, int64_t t_0, int64_t t_mult, double eta_min) {
  check_length("t_0", t_0);
  check_length("t_mult", t_mult);
  return started<WarmRestarts>(std::move(o), t_0, t_mult, eta_min);
}

}  // namespace flambeau::optim
