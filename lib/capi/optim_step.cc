// Update rules by number, and steps by them over lists of tensors that the caller keeps, at the
// ABI.
#include "flambeau/optim_step.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "capi/gen/targets.h"
#include "optim/rule.h"

namespace flambeau::capi {

namespace {

using optim::Rule;
using optim::Slot;

// By number.
const Rule* const kRules[] = {nullptr,
                              &optim::kSgdTable,
                              &optim::kAdamTable,
                              &optim::kAdamWTable,
                              &optim::kRmsPropTable,
                              &optim::kAdagradTable,
                              &optim::kAdadeltaTable,
                              &optim::kAdamaxTable,
                              &optim::kNadamTable,
                              &optim::kRadamTable,
                              &optim::kAsgdTable,
                              &optim::kRpropTable,
                              &optim::kAdafactorTable,
                              &optim::kMuonTable};
static_assert(std::size(kRules) == FLAM_RULE_MUON + 1);

const Rule* found_rule(int32_t rule) {
  return rule > 0 && size_t(rule) < std::size(kRules) ? kRules[rule] : nullptr;
}

const Rule& checked_rule(int32_t rule) {
  const Rule* found = found_rule(rule);
  check(found, Code::invalid_argument, "there is no update rule ", rule);
  return *found;
}

const Slot* found_slot(int32_t rule, size_t index) {
  const Rule* found = found_rule(rule);
  return found && index < found->slots.size() ? &found->slots[index] : nullptr;
}

RuleOptions options_of(const Rule& rule, std::span<const double> values) {
  RuleOptions options{};
  size_t used = 0;
  for (size_t i = 0; i < options.size(); ++i) {
    if (rule.options[i].empty()) continue;
    if (used < values.size()) options[i] = values[used];
    ++used;
  }
  check(used == values.size(), Code::invalid_argument, rule.name, " takes ", used, " values, not ",
        values.size());
  return options;
}

ParameterList parameter_list(const Rule& rule, const RuleOptions& options, TensorsView params,
                             TensorsView grads, TensorsView states) {
  const size_t n = params.size();
  check(n == grads.size(), Code::shape, rule.name, ": ", n, " parameters but ", grads.size(),
        " gradients");
  ParameterList list(n);
  for (size_t i = 0; i < n; ++i) {
    list[i].param = params[i];
    list[i].grad = grads[i];
  }
  size_t used = 0;
  for (const Slot& slot : rule.slots) {
    if (!optim::is_kept(slot, options)) continue;
    for (size_t i = 0; i < n; ++i) {
      if (!optim::state_shape(slot, params[i])) continue;
      if (used < states.size()) list[i].*slot.place = states[used];
      ++used;
    }
  }
  check(used == states.size(), Code::shape, rule.name, ": by these values the parameters have ",
        used, " states, but the list has ", states.size());
  return list;
}

}  // namespace

int32_t rule_find(std::string_view name) {
  for (int32_t i = 1; i < int32_t(std::size(kRules)); ++i) {
    if (name == kRules[i]->name) return i;
  }
  return FLAM_RULE_UNSPECIFIED;
}

const char* rule_name(int32_t rule) {
  const Rule* found = found_rule(rule);
  return found ? found->name : nullptr;
}

size_t rule_value_count(int32_t rule) {
  const Rule* found = found_rule(rule);
  return found ? size_t(std::ranges::count_if(found->options, [](auto o) { return !o.empty(); }))
               : 0;
}

const char* rule_value_name(int32_t rule, size_t index) {
  const Rule* found = found_rule(rule);
  if (!found) return nullptr;
  for (const std::string_view name : found->options) {
    if (!name.empty() && index-- == 0) return name.data();
  }
  return nullptr;
}

size_t rule_state_count(int32_t rule) {
  const Rule* found = found_rule(rule);
  return found ? found->slots.size() : 0;
}

const char* rule_state_name(int32_t rule, size_t index) {
  const Slot* slot = found_slot(rule, index);
  return slot ? slot->name : nullptr;
}

const char* rule_state_value(int32_t rule, size_t index) {
  const Slot* slot = found_slot(rule, index);
  return slot && slot->only_with >= 0 ? found_rule(rule)->options[size_t(slot->only_with)].data()
                                      : nullptr;
}

bool rule_state_is_number(int32_t rule, size_t index) {
  const Slot* slot = found_slot(rule, index);
  return slot && slot->shape == optim::StateShape::cell;
}

Tensor rule_state_new(int32_t rule, size_t index, const Tensor& param,
                      std::span<const double> values) {
  const Rule& found = checked_rule(rule);
  check(index < found.slots.size(), Code::index, found.name, " has ", found.slots.size(),
        " states, and no number ", index);
  return optim::begun_state(found.slots[index], param, options_of(found, values));
}

void rule_step(int32_t rule, TensorsView params, TensorsView grads, std::span<const double> values,
               TensorsView states, bool first_step, const Tensor& grad_scale,
               const Tensor& found_inf) {
  const Rule& found = checked_rule(rule);
  const RuleOptions options = options_of(found, values);
  ParameterList list = parameter_list(found, options, params, grads, states);
  for (Parameter& p : list) p.fresh = first_step;
  optim::step_list(found, std::move(list), options, {{}, grad_scale, found_inf});
}

}  // namespace flambeau::capi
