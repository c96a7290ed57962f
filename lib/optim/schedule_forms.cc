// Schedules that are one formula of the epoch.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "optim/schedule.h"

namespace flambeau::optim {

namespace {

constexpr double kPi = std::numbers::pi;

template <class S, class... A> Ref<flam_scheduler> started(A&&... args) {
  auto s = make_ref<S>(std::forward<A>(args)...);
  s->begin();
  return s;
}

class StepLr final : public flam_scheduler {
 public:
  StepLr(Scheduled o, int64_t size, double gamma)
      : flam_scheduler(std::move(o)), size_(size), gamma_(gamma) {}
  double rate(size_t, double now) override {
    return epoch_ == 0 || int64_t(epoch_) % size_ != 0 ? now : now * gamma_;
  }
  double closed(size_t g, double) override {
    return base_[g] * std::pow(gamma_, double(int64_t(epoch_) / size_));
  }

 private:
  int64_t size_;
  double gamma_;
};

class MultiStepLr final : public flam_scheduler {
 public:
  MultiStepLr(Scheduled o, std::vector<int64_t> milestones, double gamma)
      : flam_scheduler(std::move(o)), milestones_(std::move(milestones)), gamma_(gamma) {
    std::sort(milestones_.begin(), milestones_.end());
  }
  double rate(size_t, double now) override {
    const auto times = std::count(milestones_.begin(), milestones_.end(), int64_t(epoch_));
    return times ? now * std::pow(gamma_, double(times)) : now;
  }
  double closed(size_t g, double) override {
    const auto past = std::upper_bound(milestones_.begin(), milestones_.end(), int64_t(epoch_));
    return base_[g] * std::pow(gamma_, double(past - milestones_.begin()));
  }

 private:
  std::vector<int64_t> milestones_;
  double gamma_;
};

class ConstantLr final : public flam_scheduler {
 public:
  ConstantLr(Scheduled o, double factor, int64_t total)
      : flam_scheduler(std::move(o)), factor_(factor), total_(double(total)) {}
  double rate(size_t, double now) override {
    if (epoch_ == 0) return now * factor_;
    return epoch_ != total_ ? now : now * (1.0 / factor_);
  }
  double closed(size_t g, double) override {
    return base_[g] * (factor_ + double(epoch_ >= total_) * (1 - factor_));
  }

 private:
  double factor_, total_;
};

class LinearLr final : public flam_scheduler {
 public:
  LinearLr(Scheduled o, double start, double end, int64_t total)
      : flam_scheduler(std::move(o)), start_(start), end_(end), total_(double(total)) {}
  double rate(size_t, double now) override {
    if (epoch_ == 0) return now * start_;
    if (initial_ || epoch_ > total_) return now;
    return now * (1.0 + (end_ - start_) / (total_ * start_ + (epoch_ - 1) * (end_ - start_)));
  }
  double closed(size_t g, double) override {
    return base_[g] * (start_ + (end_ - start_) * std::min(total_, epoch_) / total_);
  }

 private:
  double start_, end_, total_;
};

class ExponentialLr final : public flam_scheduler {
 public:
  ExponentialLr(Scheduled o, double gamma) : flam_scheduler(std::move(o)), gamma_(gamma) {}
  double rate(size_t, double now) override { return initial_ ? now : now * gamma_; }
  double closed(size_t g, double) override { return base_[g] * std::pow(gamma_, epoch_); }

 private:
  double gamma_;
};

class PolynomialLr final : public flam_scheduler {
 public:
  PolynomialLr(Scheduled o, int64_t total, double power)
      : flam_scheduler(std::move(o)), total_(double(total)), power_(power) {}
  double rate(size_t, double now) override {
    if (initial_ || epoch_ > total_) return now;
    return now * std::pow((1.0 - epoch_ / total_) / (1.0 - (epoch_ - 1) / total_), power_);
  }
  double closed(size_t g, double) override {
    return base_[g] * std::pow(1.0 - std::min(total_, epoch_) / total_, power_);
  }

 private:
  double total_, power_;
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

class CosineLr final : public flam_scheduler {
 public:
  CosineLr(Scheduled o, int64_t t_max, double least)
      : flam_scheduler(std::move(o)), t_max_(double(t_max)), least_(least) {}
  double rate(size_t g, double now) override {
    if (initial_) return now;
    if (steps_ == 1 && epoch_ > 0) return closed(g, now);
    if (std::fmod(epoch_ - 1 - t_max_, 2 * t_max_) == 0) {
      return now + (base_[g] - least_) * (1 - std::cos(kPi / t_max_)) / 2;
    }
    return (1 + std::cos(kPi * epoch_ / t_max_)) / (1 + std::cos(kPi * (epoch_ - 1) / t_max_)) *
               (now - least_) +
           least_;
  }
  double closed(size_t g, double) override {
    return least_ + (base_[g] - least_) * (1 + std::cos(kPi * epoch_ / t_max_)) / 2;
  }

 private:
  double t_max_, least_;
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
    return least_ + (base_[g] - least_) * (1 + std::cos(kPi * at_ / length_)) / 2;
  }
  void visit(const std::string& prefix, const Visit& v) override {
    flam_scheduler::visit(prefix, v);
    v(prefix + "T_cur", {&at_});
    v(prefix + "T_i", {&length_});
  }

 private:
  double length_, grow_, least_, at_ = -1;
};

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
  return started<StepLr>(std::move(o), step_size, gamma);
}

Ref<flam_scheduler> multi_step_lr(Scheduled o, std::vector<int64_t> milestones, double gamma) {
  return started<MultiStepLr>(std::move(o), std::move(milestones), gamma);
}

Ref<flam_scheduler> constant_lr(Scheduled o, double factor, int64_t total_iters) {
  check_share("Constant multiplicative factor", factor, true);
  return started<ConstantLr>(std::move(o), factor, total_iters);
}

Ref<flam_scheduler> linear_lr(Scheduled o, double start, double end, int64_t total_iters) {
  check_share("Starting multiplicative factor", start, false);
  check_share("Ending multiplicative factor", end, true);
  check_length("total_iters", total_iters);
  return started<LinearLr>(std::move(o), start, end, total_iters);
}

Ref<flam_scheduler> exponential_lr(Scheduled o, double gamma) {
  return started<ExponentialLr>(std::move(o), gamma);
}

Ref<flam_scheduler> polynomial_lr(Scheduled o, int64_t total_iters, double power) {
  check_length("total_iters", total_iters);
  return started<PolynomialLr>(std::move(o), total_iters, power);
}

Ref<flam_scheduler> lambda_lr(Scheduled o, Factor factor) {
  return started<LambdaLr>(std::move(o), std::move(factor), false);
}

Ref<flam_scheduler> multiplicative_lr(Scheduled o, Factor factor) {
  return started<LambdaLr>(std::move(o), std::move(factor), true);
}

Ref<flam_scheduler> cosine_annealing_lr(Scheduled o, int64_t t_max, double eta_min) {
  check_length("t_max", t_max);
  return started<CosineLr>(std::move(o), t_max, eta_min);
}

Ref<flam_scheduler> cosine_warm_restarts(Scheduled o, int64_t t_0, int64_t t_mult, double eta_min) {
  check_length("t_0", t_0);
  check_length("t_mult", t_mult);
  return started<WarmRestarts>(std::move(o), t_0, t_mult, eta_min);
}

}  // namespace flambeau::optim
