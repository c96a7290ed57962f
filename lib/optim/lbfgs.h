// L-BFGS: a quasi-Newton direction from the last changes of parameters and gradient, followed by a
// fixed step or by a search along the line.
#pragma once
#include <deque>

#include "optim/optimizer.h"

namespace flambeau::optim {

enum : int {  // where the options lie, beside kOptLr and kOptMaximize
  kLbfgsMaxIter = 1,
  kLbfgsMaxEval = 3,
  kLbfgsGrad,
  kLbfgsChange,
  kLbfgsHistory,
  kLbfgsWolfe,
};

Ref<flam_optimizer> lbfgs(TensorsView params, const RuleOptions& options);

// A point of a line: how far along, the loss there, the gradient, and its slope along the line.
struct LinePoint {
  double at, loss;
  Tensor grad;
  double slope;
};

// A point that holds the strong Wolfe conditions, or the best one after `most` evaluations; `reach`
// is the greatest change of a parameter per unit of the line. Counts evaluations in `evals`.
LinePoint strong_wolfe(const std::function<LinePoint(double at)>& evaluate, const LinePoint& start,
                       double first, double reach, double tolerance_change, int most, int* evals);

}  // namespace flambeau::optim
