// Rules that take a parameter as a matrix, written with operations; each steps one parameter.
#pragma once
#include "kernels/optimizer/optimizer.h"

namespace flambeau::optim {

void step_adafactor(const Parameter& p, const RuleOptions& options);
void step_muon(const Parameter& p, const RuleOptions& options);

}  // namespace flambeau::optim
