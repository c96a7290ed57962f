// Groups, options and state, for every rule of the table.
#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "graph/mode.h"
#include "ops/ops.h"

using namespace flambeau;
using flambeau::optim::Slot;

void flam_optimizer::add_group(TensorsView params, const RuleOptions& options) {
  check(!params.empty(), Code::invalid_argument, "optimizer got an empty parameter list");
  rule_.check(options);
  std::unordered_set<const TensorImpl*> known;
  for (const Group& g : groups) {
    for (const Parameter& p : g.list) known.insert(p.param.impl());
  }
  Group group{{}, options};
  for (const Tensor& t : params) {
    check(is_leaf(t), Code::autograd, "can't optimize a non-leaf Tensor: ", t);
    if (rule_.check_param) rule_.check_param(t);
    check(known.insert(t.impl()).second, Code::invalid_argument,
          "some parameters appear in more than one group: ", t);
    Parameter p;
    p.param = t;
    group.list.push_back(std::move(p));
  }
  groups.push_back(std::move(group));
}

double* flam_optimizer::option(std::string_view name, size_t group) {
  if (group >= groups.size() || name.empty()) return nullptr;
  for (size_t i = 0; i < rule_.options.size(); ++i) {
    if (rule_.options[i] == name) return &groups[group].options[i];
  }
  return nullptr;
}

double* flam_optimizer::option_place(std::string_view name, size_t group) {
  check(group < groups.size(), Code::index, "group ", group, " is out of range: there are ",
        groups.size());
  double* place = option(name, group);
  check(place, Code::invalid_argument, rule_.name, " has no option \"", name, "\"");
  return place;
}

void flam_optimizer::set_option(std::string_view name, double value, size_t group) {
  double* place = option_place(name, group);
  RuleOptions changed = groups[group].options;
  changed[size_t(place - groups[group].options.data())] = value;
  rule_.check(changed);
  *place = value;
}

void flam_optimizer::make_state(Parameter& p, const RuleOptions& options) const {
  for (const Slot& s : rule_.slots) {
    Tensor& t = p.*s.place;
    if (t) continue;
    t = optim::begun_state(s, p.param, options);
    p.fresh |= t.defined();
  }
}

void flam_optimizer::forget_fresh(Group& g) const {
  for (Parameter& p : g.list) {
    if (!p.fresh) continue;
    for (const Slot& s : rule_.slots) p.*s.place = Tensor();
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
      make_state(p, g.options);
      fresh |= p.fresh;
      const Device device = p.param.device();
      auto list = std::ranges::find(ready, device, [](const auto& r) { return r.first; });
      if (list == ready.end()) list = ready.insert(list, {device, {}});
      list->second.push_back(p);
      list->second.back().grad = autograd->grad;
    }
    if (ready.empty()) continue;
    const auto differs = rule_.first_step_differs;
    if (found_inf && fresh && differs && differs(g.options) &&
        optim::number_of(found_inf(ready[0].first)) != 0) {
      forget_fresh(g);  // the one step for which the host has to know
      continue;
    }
    for (auto& [device, list] : ready) {
      optim::step_list(rule_, std::move(list), g.options,
                       {{}, {}, found_inf ? found_inf(device) : Tensor()});
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

double flam_optimizer::step_closure(const optim::Closure& closure) {
  double loss;
  {
    GradMode grad(true);
    loss = closure();
  }
  step();
  return loss;
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

// Every named option of every group, "groups.0.lr" and so on; "initial_lr" where a schedule set it.
void flam_optimizer::for_each_option(const std::function<void(const std::string&, double&)>& visit,
                                     bool unset) const {
  for (size_t i = 0; i < groups.size(); ++i) {
    Group& g = const_cast<Group&>(groups[i]);
    for (size_t k = 0; k < rule_.options.size(); ++k) {
      if (!rule_.options[k].empty())
        visit(cat_text("groups.", i, ".", rule_.options[k]), g.options[k]);
    }
    if (unset || !std::isnan(g.initial_lr))
      visit(cat_text("groups.", i, ".initial_lr"), g.initial_lr);
  }
}

Ref<State> flam_optimizer::state_dict() const {
  auto state = make_ref<State>();
  size_t number = 0;
  for (const Group& g : groups) {
    for (const Parameter& p : g.list) {
      for (const Slot& s : rule_.slots) {
        if (p.*s.place) state->entries.emplace_back(cat_text(number, ".", s.name), p.*s.place);
      }
      ++number;
    }
  }
  for_each_option([&](const std::string& name, double& value) {
    const Tensor t = empty(Dims{}, Dtype::f64, kCpu);
    *t.data_as<double>() = value;
    state->entries.emplace_back(name, t);
  });
  return state;
}

double optim::number_of(const Tensor& t) {
  check(t.numel() == 1, Code::shape, "a number is expected, not ", t);
  return *ops::to(t, kCpu, Dtype::f64, false, false).data_as<double>();
}

void flam_optimizer::load_state_dict(const State& state) {
  std::vector<std::pair<Tensor*, Tensor>> moves;
  size_t number = 0;
  for (Group& g : groups) {
    for (Parameter& p : g.list) {
      for (const Slot& s : rule_.slots) {
        const Tensor* t = state.find(cat_text(number, ".", s.name));
        if (!t) continue;
        const std::optional<Dims> wanted = optim::state_shape(s, p.param);
        if (!wanted) continue;
        check(std::ranges::equal(t->sizes(), *wanted), Code::shape, "state \"", number, ".", s.name,
              "\" has shape ", ShapeText{t->sizes()}, ", expected ", ShapeText{*wanted});
        const Dtype dtype = s.shape == optim::StateShape::cell ? Dtype::f32 : p.param.dtype();
        moves.emplace_back(&(p.*s.place), ops::to(*t, p.param.device(), dtype, false, true));
      }
      ++number;
    }
  }
  std::vector<std::pair<double*, double>> numbers;
  for_each_option(
      [&](const std::string& name, double& place) {
        if (const Tensor* t = state.find(name)) numbers.emplace_back(&place, optim::number_of(*t));
      },
      true);
  check(moves.size() + numbers.size() == state.entries.size(), Code::invalid_argument,
        "the state has ", state.entries.size(), " entries, of which this optimizer knows ",
        moves.size() + numbers.size(),
        "; was it saved by another optimizer or for other parameters?");
  for (auto& [place, t] : moves) *place = std::move(t);
  for (const auto& [place, value] : numbers) *place = value;
}

namespace flambeau::optim {

Ref<flam_optimizer> make_optimizer(const Rule& rule, TensorsView params,
                                   const RuleOptions& options) {
  auto optimizer = make_ref<flam_optimizer>(rule);
  optimizer->add_group(params, options);
  return optimizer;
}

}  // namespace flambeau::optim
