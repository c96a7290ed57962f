// One step of a rule over a list, for tensors of any layout: the kernels walk dense tensors side by
// side, so what is not dense steps as a dense copy.
#include "optim/step.h"

#include "base/error.h"
#include "device/label.h"
#include "device/probe.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau::optim {

static probe::Token step_span(const char* rule, const ParameterList& list) {
  const Device device = list.empty() ? kCpu : list[0].param.device();
  return probe::begin_op(intern(cat_text("Optimizer.step#", rule, ".step")), device, {});
}

void step_list(const char* op, const UpdateRule& rule, ParameterList list,
               const RuleOptions& options, const OptimizerCells& cells) {
  GradMode no_grad(false);
  const probe::Span span(probe::on() ? step_span(op, list) : 0);
  std::vector<std::pair<Tensor, Tensor>> copies;  // where it belongs, the dense copy
  for (Parameter& p : list) {
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
  run_rule(op, rule, list, options, cells);
  for (const auto& [place, dense] : copies) ops::copy_(place, dense);
}

}  // namespace flambeau::optim
