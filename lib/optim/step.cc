// State of a rule and one step over a list, for tensors of any layout: the kernels walk dense
// tensors side by side, so what is not dense steps as a dense copy.
#include "base/error.h"
#include "device/label.h"
#include "device/probe.h"
#include "graph/mode.h"
#include "ops/ops.h"
#include "optim/optimizer.h"

namespace flambeau::optim {

static probe::Token step_span(const char* rule, const ParameterList& list) {
  const Device device = list.empty() ? kCpu : list[0].param.device();
  return probe::begin_op(intern(cat_text("Optimizer.step#", rule, ".step")), device, {});
}

std::optional<Dims> state_shape(const Slot& slot, const Tensor& param) {
  const bool matrix = param.dim() >= 2;
  if (slot.shape == StateShape::cell) return Dims();
  Dims shape(param.sizes());
  if (slot.shape == StateShape::like) return shape;
  if (matrix == (slot.shape == StateShape::vector)) return {};
  if (slot.shape == StateShape::rows) shape[shape.size() - 1] = 1;
  if (slot.shape == StateShape::columns) shape[shape.size() - 2] = 1;
  return shape;
}

bool is_kept(const Slot& slot, const RuleOptions& options) {
  return slot.only_with < 0 || options[size_t(slot.only_with)] != 0;
}

Tensor begun_state(const Slot& slot, const Tensor& param, const RuleOptions& options) {
  const std::optional<Dims> shape = state_shape(slot, param);
  if (!shape || !is_kept(slot, options)) return {};
  const double start = slot.start_option >= 0 ? options[size_t(slot.start_option)] : slot.start;
  const Dtype dtype = slot.shape == StateShape::cell ? Dtype::f32 : param.dtype();
  const Tensor t = ops::zeros(*shape, dtype, param.device());
  if (start != 0) ops::fill_(t, wrapped_number(start));
  return t;
}

static void step_by_formula(const Rule& rule, const ParameterList& list, const RuleOptions& options,
                            const OptimizerCells& cells) {
  rule.check(options);
  if (cells.found_inf && number_of(cells.found_inf) != 0) return;
  for (Parameter p : list) {
    if (rule.check_param) rule.check_param(p.param);
    if (cells.grad_scale) p.grad = ops::div(p.grad, cells.grad_scale);
    rule.formula(p, options);
  }
}

void step_list(const Rule& rule, ParameterList list, const RuleOptions& options,
               const OptimizerCells& cells) {
  Modes plain = modes;
  plain.grad = plain.autocast = false;
  const ModeScope scope(plain);
  const probe::Span span(probe::on() ? step_span(rule.name, list) : 0);
  if (rule.formula) return step_by_formula(rule, list, options, cells);
  std::vector<std::pair<Tensor, Tensor>> copies;  // where it belongs, the dense copy
  for (Parameter& p : list) {
    for (const Slot& s : rule.slots) {
      if (!is_kept(s, options)) p.*s.place = Tensor();
    }
    p.grad = ops::contiguous(p.grad);
    for (const auto place :
         {&Parameter::param, &Parameter::first, &Parameter::second, &Parameter::third}) {
      Tensor& t = p.*place;
      if (!t || t.is_contiguous()) continue;
      const Tensor dense = ops::contiguous(t);
      copies.emplace_back(t, dense);
      t = dense;
    }
  }
  run_rule(rule.name, *rule.update, list, options, cells);
  for (const auto& [place, dense] : copies) ops::copy_(place, dense);
}

}  // namespace flambeau::optim
