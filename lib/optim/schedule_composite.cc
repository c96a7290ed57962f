// Schedules made of others, and the one that goes by a metric.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "optim/schedule.h"

namespace flambeau::optim {

namespace {

class Composite : public flam_scheduler {
 public:
  explicit Composite(Ref<flam_scheduler> first) : flam_scheduler(first->optimizer()) {
    check_part(*first);
    parts_.push_back(std::move(first));
  }
  void visit(const std::string& prefix, const Visit& v) override {
    flam_scheduler::visit(prefix, v);
    for (size_t i = 0; i < parts_.size(); ++i) {
      parts_[i]->visit(cat_text(prefix, "schedulers.", i, "."), v);
    }
  }
  void jump(int64_t) override {
    fail(Code::unsupported,
         "a schedule made of others cannot be set to an epoch, as where a "
         "sequence holds it; put its parts there");
  }

 protected:
  double rate(size_t, double now) override { return now; }
  void check_part(const flam_scheduler& s) const {
    check(s.optimizer().get() == optimizer_.get(), Code::invalid_argument,
          "all schedules of a sequence or chain must belong to one optimizer");
    check(!s.needs_metric(), Code::invalid_argument,
          "a sequence or chain does not support `ReduceLROnPlateau`: its step needs a metric");
  }

  std::vector<Ref<flam_scheduler>> parts_;
};

class SequentialLr final : public Composite {
 public:
  using Composite::Composite;

  void restart() {  // from epoch 0, by the first part
    for (auto& g : optimizer_->groups) g.options[kOptLr] = g.initial_lr;
    parts_[0]->undo();
    parts_[0]->begin();
    epoch_ = 0;
    remember_rates();
  }
  void append(Ref<flam_scheduler> next, int64_t milestone) override {
    check_part(*next);
    const int64_t last = milestones_.empty() ? 0 : milestones_.back();
    check(epoch_ == 0, Code::invalid_argument, "a sequence that was stepped cannot grow");
    check(milestone > last, Code::invalid_argument, "milestones must grow: ", milestone,
          " does not come after ", last);
    next->undo();
    parts_.push_back(std::move(next));
    milestones_.push_back(milestone);
    restart();
  }
  void undo() override {
    for (auto& s : parts_) s->undo();
  }
  void begin() override { step(); }
  void step() override {
    steps_ += 1;
    epoch_ += 1;
    const auto at = std::upper_bound(milestones_.begin(), milestones_.end(), int64_t(epoch_));
    const size_t i = size_t(at - milestones_.begin());
    if (i > 0 && milestones_[i - 1] == int64_t(epoch_)) {
      parts_[i]->jump(0);
    } else {
      parts_[i]->step();
    }
    remember_rates();
  }

 private:
  std::vector<int64_t> milestones_;
};

class ChainedLr final : public Composite {
 public:
  using Composite::Composite;

  void append(Ref<flam_scheduler> next, int64_t) override {
    check_part(*next);
    parts_.push_back(std::move(next));
    remember_rates();
  }
  void undo() override {
    for (auto& s : parts_) s->undo();
  }
  void begin() override { step(); }
  void step() override {
    for (auto& s : parts_) s->step();
    remember_rates();
  }
};

class Plateau final : public flam_scheduler {
 public:
  Plateau(Scheduled o, const PlateauOptions& options) : flam_scheduler(std::move(o)), o_(options) {
    epoch_ = 0;
    best_ = o_.maximize ? -kInfinity : kInfinity;
  }
  bool needs_metric() const override { return true; }
  void step() override {
    fail(Code::invalid_argument,
         "ReduceLROnPlateau steps by a metric; call flam_scheduler_step_metric");
  }
  void step(double metric) override {
    epoch_ += 1;
    if (better(metric)) {
      best_ = metric;
      bad_ = 0;
    } else {
      bad_ += 1;
    }
    if (cooling_ > 0) {
      cooling_ -= 1;
      bad_ = 0;
    }
    if (bad_ > double(o_.patience)) {
      for (auto& g : optimizer_->groups) {
        double& lr = g.options[kOptLr];
        const double lower = std::max(lr * o_.factor, o_.min_lr);
        if (lr - lower > o_.eps) lr = lower;
      }
      cooling_ = double(o_.cooldown);
      bad_ = 0;
    }
    remember_rates();
  }
  void visit(const std::string& prefix, const Visit& v) override {
    flam_scheduler::visit(prefix, v);
    v(prefix + "best", {&best_});
    v(prefix + "num_bad_epochs", {&bad_});
    v(prefix + "cooldown_counter", {&cooling_});
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double rate(size_t, double now) override { return now; }
  bool better(double x) const {
    if (o_.maximize) {
      return x > (o_.absolute ? best_ + o_.threshold : best_ * (o_.threshold + 1.0));
    }
    return x < (o_.absolute ? best_ - o_.threshold : best_ * (1.0 - o_.threshold));
  }

  PlateauOptions o_;
  double best_, bad_ = 0, cooling_ = 0;
};

}  // namespace

Ref<flam_scheduler> sequential_lr(Ref<flam_scheduler> first) {
  auto s = make_ref<SequentialLr>(std::move(first));
  s->restart();
  return s;
}

Ref<flam_scheduler> chained_lr(Ref<flam_scheduler> first) {
  return make_ref<ChainedLr>(std::move(first));
}

Ref<flam_scheduler> reduce_on_plateau(Scheduled o, const PlateauOptions& options) {
  check(options.factor < 1, Code::invalid_argument, "Factor should be < 1.0, got ", options.factor);
  return make_ref<Plateau>(std::move(o), options);
}

}  // namespace flambeau::optim
