// Variables whose draws take as many words of Philox as chance wants: gamma, Poisson, binomial. An
// element's words follow from its position and the attempt, so that results do not depend on
// threads, blocks or the other elements.
//
//   run_variable("standard_gamma", kGamma, out, {seed, offset}, concentrations, {})
//   run_variable("binomial", kBinomial, out, state, counts, probabilities)
#pragma once
#include "kernels/random/random.h"

namespace flambeau {

struct VariableArgs {
  int64_t numel;
  char* out;           // dense
  const char* first;   // dense, same dtype
  const char* second;  // the same, or null
  RandomState state;
};

// All of one size, dtype and device.
void run_variable(const char* op, const Kernel& kernel, const Tensor& out, RandomState state,
                  const Tensor& first, const Tensor& second);

extern constinit Kernel kGamma, kLogGamma, kPoisson, kBinomial;  // kLogGamma: f64

}  // namespace flambeau
