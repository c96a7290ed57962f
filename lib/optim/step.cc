// State of a rule and one step over a list, for tensors of any layout: the kernels walk dense
// tensors side by side, so what is not dense steps as a dense copy.
#include <algorithm>

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

namespace {

struct Beside {
  const char* rule;
  size_t i;
  const Tensor& param;

  void check_place(const char* what, const Tensor& t, DimsView shape) const {
    check(std::ranges::equal(t.sizes(), shape), Code::shape, rule, ": the \"", what,
          "\" of parameter ", i, " has shape ", ShapeText{t.sizes()}, ", expected ",
          ShapeText{shape});
    check_kind(what, t, param.dtype());
  }
  void check_cell(const char* what, const Tensor& t) const {
    if (!t) return;
    check(t.numel() == 1, Code::shape, rule, ": the \"", what, "\" of parameter ", i,
          " is one number, but has shape ", ShapeText{t.sizes()});
    check_kind(what, t, Dtype::f32);
  }

 private:
  void check_kind(const char* what, const Tensor& t, Dtype dtype) const {
    check(t.dtype() == dtype && t.device() == param.device(), Code::invalid_argument, rule,
          ": the \"", what, "\" of parameter ", i, " is ", t, ", expected ", short_name(dtype),
          " on ", to_string(param.device()));
  }
};

// All that stands beside a parameter is as kernels walk it and formulas take it, over the whole
// list: a step that fails has changed nothing.
void check_list(const Rule& rule, const ParameterList& list, const RuleOptions& options,
                const OptimizerCells& cells) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Parameter& p = list[i];
    const Tensor& x = p.param;
    check(is_floating(x.dtype()), Code::dtype, rule.name, ": parameter ", i, " is ", x,
          ", expected floating point");
    const Beside beside{rule.name, i, x};
    beside.check_place("grad", p.grad, x.sizes());
    for (const Slot& slot : rule.slots) {
      const Tensor& t = p.*slot.place;
      const std::optional<Dims> shape = state_shape(slot, x);
      if (!t || !shape || !is_kept(slot, options)) continue;
      const bool cell = slot.shape == StateShape::cell;
      cell ? beside.check_cell(slot.name, t) : beside.check_place(slot.name, t, *shape);
    }
    beside.check_cell("lr", cells.lr);
    beside.check_cell("grad_scale", cells.grad_scale);
    beside.check_cell("found_inf", cells.found_inf);
    if (rule.check_param) rule.check_param(x);
  }
}

// In f32 for half types, as the kernels do: usual scales are infinite in f16.
Tensor unscaled(const Tensor& grad, const Tensor& scale) {
  const Tensor wide = is_half(grad.dtype()) ? ops::to(grad, {}, Dtype::f32) : grad;
  return ops::to(ops::div(wide, ops::reshape(scale, {})), {}, grad.dtype());
}

}  // namespace

static void step_by_formula(const Rule& rule, const ParameterList& list, const RuleOptions& options,
                            const OptimizerCells& cells) {
  rule.check(options);
  if (cells.found_inf && number_of(cells.found_inf) != 0) return;
  for (Parameter p : list) {
    if (p.step) p.step = ops::reshape(p.step, {});
    if (cells.grad_scale) p.grad = unscaled(p.grad, cells.grad_scale);
    rule.formula(p, options);
  }
}

void step_list(const Rule& rule, ParameterList list, const RuleOptions& options,
               const OptimizerCells& cells) {
  Modes plain = modes;
  plain.grad = plain.autocast = false;
  const ModeScope scope(plain);
  const probe::Span span(probe::on() ? step_span(rule.name, list) : 0);
  check_list(rule, list, options, cells);
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
