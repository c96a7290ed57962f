// One step of a rule over a list of parameters of any layout.
#pragma once
#include "kernels/optimizer/optimizer.h"

namespace flambeau::optim {

void step_list(const char* op, const UpdateRule& rule, ParameterList list,
               const RuleOptions& options, const OptimizerCells& cells = {});

}  // namespace flambeau::optim
