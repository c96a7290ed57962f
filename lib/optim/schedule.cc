// Learning rate schedules.
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "optim/optimizer.h"

using namespace flambeau;

flam_scheduler::flam_scheduler(Ref<flam_optimizer> o) : optimizer_(std::move(o)) {
  for (const auto& g : optimizer_->groups) base_.push_back(g.lr);
}

void flam_scheduler::step() {
  ++steps_;
  for (size_t i = 0; i < base_.size(); ++i) {
    double& lr = optimizer_->groups[i].lr;
    lr = rate(base_[i], lr, steps_);
  }
}

namespace flambeau::optim {

namespace {

class StepLr final : public flam_scheduler {
 public:
  StepLr(Ref<flam_optimizer> o, int64_t size, double gamma)
      : flam_scheduler(std::move(o)), size_(size), gamma_(gamma) {}
  double rate(double, double now, int64_t steps) const override {
    return steps % size_ ? now : now * gamma_;
  }

 private:
  int64_t size_;
  double gamma_;
};

class CosineLr final : public flam_scheduler {
 public:
  CosineLr(Ref<flam_optimizer> o, int64_t t_max, double least)
      : flam_scheduler(std::move(o)), t_max_(t_max), least_(least) {}
  double rate(double base, double, int64_t steps) const override {
    return least_ +
           (base - least_) * (1 + std::cos(std::numbers::pi * double(steps) / double(t_max_))) / 2;
  }

 private:
  int64_t t_max_;
  double least_;
};

}  // namespace

Ref<flam_scheduler> step_lr(Ref<flam_optimizer> o, int64_t step_size, double gamma) {
  check(step_size >= 1, Code::invalid_argument, "step_size must be at least 1, got ", step_size);
  return make_ref<StepLr>(std::move(o), step_size, gamma);
}

Ref<flam_scheduler> cosine_annealing_lr(Ref<flam_optimizer> o, int64_t t_max, double eta_min) {
  check(t_max >= 1, Code::invalid_argument, "t_max must be at least 1, got ", t_max);
  return make_ref<CosineLr>(std::move(o), t_max, eta_min);
}

}  // namespace flambeau::optim
