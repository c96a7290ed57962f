// Groups, state and the two rules.
#include "optim/optimizer.h"

#include <unordered_set>

#include "base/error.h"
#include "graph/mode.h"
#include "ops/ops.h"

using namespace flambeau;

namespace {

bool is_set(const Tensor& cell) {
  const Tensor host = ops::to_device(cell, kCpu, false);
  return *host.data_as<float>() != 0;
}

}  // namespace

void flam_optimizer::add_group(TensorsView params, double lr, double weight_decay) {
  check(!params.empty(), Code::invalid_argument, "optimizer got an empty parameter list");
  check(lr >= 0, Code::invalid_argument, "Invalid learning rate: ", lr);
  check(weight_decay >= 0, Code::invalid_argument, "Invalid weight_decay value: ", weight_decay);
  std::unordered_set<const TensorImpl*> known;
  for (const Group& g : groups) {
    for (const Parameter& p : g.list) known.insert(p.param.impl());
  }
  Group group{{}, lr, weight_decay};
  for (const Tensor& t : params) {
    check(is_leaf(t), Code::autograd, "can't optimize a non-leaf Tensor: ", t);
    check(known.insert(t.impl()).second, Code::invalid_argument,
          "some parameters appear in more than one group: ", t);
    Parameter p;
    p.param = t;
    group.list.push_back(std::move(p));
  }
  groups.push_back(std::move(group));
}

void flam_optimizer::make_state(Parameter& p) const {
  for (const Slot& s : slots()) {
    Tensor& t = p.*s.place;
    if (t) continue;
    p.fresh = true;
    t = s.counter ? ops::zeros(Dims{}, Dtype::f32, p.param.device())
                  : ops::zeros(p.param.sizes(), p.param.dtype(), p.param.device());
  }
}

void flam_optimizer::forget_fresh(Group& g) const {
  for (Parameter& p : g.list) {
    if (!p.fresh) continue;
    for (const Slot& s : slots()) p.*s.place = Tensor();
  }
}

void flam_optimizer::step(const FoundInf& found_inf) {
  GradMode no_grad(false);
  for (Group& g : groups) {
    std::vector<std::pair<Device, ParameterList>> ready;
    bool fresh = false;
    for (Parameter& p : g.list) {
      const auto& autograd = p.param.impl()->autograd;
      if (!autograd || !autograd->grad) continue;
      make_state(p);
      fresh |= p.fresh;
      const Device device = p.param.device();
      auto list = std::ranges::find(ready, device, [](const auto& r) { return r.first; });
      if (list == ready.end()) list = ready.insert(list, {device, {}});
      list->second.push_back(p);
      list->second.back().grad = ops::contiguous(autograd->grad);
    }
    if (ready.empty()) continue;
    if (found_inf && fresh && first_step_differs() && is_set(found_inf(ready[0].first))) {
      forget_fresh(g);  // the one step for which the host has to know
      continue;
    }
    for (const auto& [device, list] : ready) {
      update(g, list, {{}, {}, found_inf ? found_inf(device) : Tensor()});
    }
    for (Parameter& p : g.list) p.fresh = false;
  }
}

Tensors flam_optimizer::parameters() const {
  Tensors all;
  for (const Group& g : groups) {
    for (const Parameter& p : g.list) all.push_back(p.param);
  }
  return all;
}

void flam_optimizer::zero_grad(bool set_to_none) {
  GradMode no_grad(false);
  for (const Group& g : groups) {
    for (const Parameter& p : g.list) {
      if (!p.param.impl()->autograd || !p.param.impl()->autograd->grad) continue;
      Tensor& grad = p.param.impl()->autograd->grad;
      if (set_to_none) {
        grad = Tensor();
      } else {
        ops::zero_(grad);
      }
    }
  }
}

Ref<State> flam_optimizer::state_dict() const {
  auto state = make_ref<State>();
  size_t number = 0;
  for (const Group& g : groups) {
    for (const Parameter& p : g.list) {
      for (const Slot& s : slots()) {
        if (p.*s.place) state->entries.emplace_back(cat_text(number, ".", s.name), p.*s.place);
      }
      ++number;
    }
  }
  return state;
}

void flam_optimizer::load_state_dict(const State& state) {
  std::vector<std::pair<Tensor*, Tensor>> moves;
  size_t number = 0;
  for (Group& g : groups) {
    for (Parameter& p : g.list) {
      for (const Slot& s : slots()) {
        const Tensor* t = state.find(cat_text(number, ".", s.name));
        if (!t) continue;
        const DimsView wanted = s.counter ? DimsView() : p.param.sizes();
        check(std::ranges::equal(t->sizes(), wanted), Code::shape, "state \"", number, ".", s.name,
              "\" has shape ", ShapeText{t->sizes()}, ", expected ", ShapeText{wanted});
        const Dtype dtype = s.counter ? Dtype::f32 : p.param.dtype();
        moves.emplace_back(&(p.*s.place), ops::to(*t, p.param.device(), dtype, false, true));
      }
      ++number;
    }
  }
  check(moves.size() == state.entries.size(), Code::invalid_argument, "the state has ",
        state.entries.size(), " entries, of which this optimizer knows ", moves.size(),
        "; was it saved by another optimizer or for other parameters?");
  for (auto& [place, t] : moves) *place = std::move(t);
}

namespace flambeau::optim {

namespace {

void check_beta(const char* which, double beta) {
  check(beta >= 0 && beta < 1, Code::invalid_argument, "Invalid beta parameter at index ", which,
        ": ", beta);
}

class Sgd final : public flam_optimizer {
 public:
  explicit Sgd(const SgdOptions& o) : o_(o) {}
  std::vector<Slot> slots() const override {
    if (o_.momentum == 0) return {};
    return {{"momentum_buffer", &Parameter::first, false}};
  }
  void update(const Group& g, const ParameterList& list, const OptimizerCells& cells) override {
    SgdOptions o = o_;
    o.lr = g.lr;
    o.weight_decay = g.weight_decay;
    run_sgd("SGD", list, o, cells);
  }
  bool first_step_differs() const override { return o_.momentum != 0 && o_.dampening != 0; }

 private:
  SgdOptions o_;
};

class Adam final : public flam_optimizer {
 public:
  Adam(const AdamOptions& o, bool amsgrad) : o_(o), amsgrad_(amsgrad) {}
  std::vector<Slot> slots() const override {
    std::vector<Slot> s{{"step", &Parameter::step, true},
                        {"exp_avg", &Parameter::first, false},
                        {"exp_avg_sq", &Parameter::second, false}};
    if (amsgrad_) s.push_back({"max_exp_avg_sq", &Parameter::greatest, false});
    return s;
  }
  void update(const Group& g, const ParameterList& list, const OptimizerCells& cells) override {
    AdamOptions o = o_;
    o.lr = g.lr;
    o.weight_decay = g.weight_decay;
    run_adam(o.decoupled ? "AdamW" : "Adam", list, o, cells);
  }

 private:
  AdamOptions o_;
  bool amsgrad_;
};

}  // namespace

Ref<flam_optimizer> sgd(TensorsView params, const SgdOptions& o) {
  check(o.momentum >= 0, Code::invalid_argument, "Invalid momentum value: ", o.momentum);
  check(!o.nesterov || (o.momentum > 0 && o.dampening == 0), Code::invalid_argument,
        "Nesterov momentum requires a momentum and zero dampening");
  auto optimizer = make_ref<Sgd>(o);
  optimizer->add_group(params, o.lr, o.weight_decay);
  return optimizer;
}

Ref<flam_optimizer> adam(TensorsView params, const AdamOptions& o, bool amsgrad) {
  check(o.eps >= 0, Code::invalid_argument, "Invalid epsilon value: ", o.eps);
  check_beta("0", o.beta1);
  check_beta("1", o.beta2);
  auto optimizer = make_ref<Adam>(o, amsgrad);
  optimizer->add_group(params, o.lr, o.weight_decay);
  return optimizer;
}

}  // namespace flambeau::optim
