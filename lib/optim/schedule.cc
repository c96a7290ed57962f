// What all schedules share: epochs, first rates, state. The first schedule of an optimizer fixes
// the groups' initial rates; later ones go by the same, as in PyTorch.
#include "optim/schedule.h"

#include <cmath>

#include "base/error.h"
#include "ops/ops.h"

using namespace flambeau;

flam_scheduler::flam_scheduler(Ref<flam_optimizer> o) : optimizer_(std::move(o)) {
  for (auto& g : optimizer_->groups) {
    if (std::isnan(g.initial_lr)) g.initial_lr = g.options[kOptLr];
    base_.push_back(g.initial_lr);
  }
  remember_rates();
}

void flam_scheduler::remember_rates() {
  last_.clear();
  for (const auto& g : optimizer_->groups) last_.push_back(g.options[kOptLr]);
}

void flam_scheduler::set_rates(bool by_closed_form) {
  check(base_.size() == optimizer_->groups.size(), Code::invalid_argument, "the schedule knows ",
        base_.size(), " groups, its optimizer has ", optimizer_->groups.size(),
        "; make the schedule after the last add_group");
  std::vector<double> rates;
  for (size_t i = 0; i < base_.size(); ++i) {
    const double now = optimizer_->groups[i].options[kOptLr];
    rates.push_back(by_closed_form ? closed(i, now) : rate(i, now));
  }
  for (size_t i = 0; i < rates.size(); ++i) optimizer_->groups[i].options[kOptLr] = rates[i];
  remember_rates();
}

void flam_scheduler::begin() {
  steps_ = 0;
  initial_ = true;
  const struct End {
    bool& flag;
    ~End() { flag = false; }
  } end{initial_};
  step();
}

void flam_scheduler::step() {
  steps_ += 1;
  epoch_ += 1;
  set_rates(false);
}

void flam_scheduler::step(double) {
  fail(Code::invalid_argument,
       "only ReduceLROnPlateau steps by a metric; call flam_scheduler_step");
}

void flam_scheduler::jump(int64_t epoch) {
  epoch_ = double(epoch);
  set_rates(true);
}

void flam_scheduler::append(Ref<flam_scheduler>, int64_t) {
  fail(Code::invalid_argument, "only sequential and chained schedules are made of others");
}

void flam_scheduler::visit(const std::string& prefix, const Visit& v) {
  v(prefix + "last_epoch", {&epoch_});
  v(prefix + "step_count", {&steps_});
  const auto all = [](std::vector<double>& values) {
    std::vector<double*> places;
    for (double& x : values) places.push_back(&x);
    return places;
  };
  v(prefix + "base_lrs", all(base_));
  v(prefix + "last_lr", all(last_));
}

Ref<State> flam_scheduler::state_dict() {
  auto state = make_ref<State>();
  visit("", [&](const std::string& name, const std::vector<double*>& values) {
    const Tensor t = empty(Dims{int64_t(values.size())}, Dtype::f64, kCpu);
    for (size_t i = 0; i < values.size(); ++i) t.data_as<double>()[i] = *values[i];
    state->entries.emplace_back(name, t);
  });
  return state;
}

void flam_scheduler::load_state_dict(const State& state) {
  std::vector<std::pair<double*, double>> moves;
  size_t known = 0;
  visit("", [&](const std::string& name, const std::vector<double*>& values) {
    const Tensor* found = state.find(name);
    check(found, Code::invalid_argument, "the state has no \"", name,
          "\"; was it saved by another kind of schedule?");
    const Tensor t = ops::contiguous(ops::to(*found, kCpu, Dtype::f64, false, false));
    check(t.numel() == int64_t(values.size()), Code::shape, "state \"", name, "\" has ", t.numel(),
          " values, expected ", values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      moves.emplace_back(values[i], t.data_as<double>()[i]);
    }
    ++known;
  });
  check(known == state.entries.size(), Code::invalid_argument, "the state has ",
        state.entries.size(), " entries, of which this schedule knows ", known);
  for (const auto& [place, value] : moves) *place = value;
}
