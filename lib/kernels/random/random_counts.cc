// Plans of the kernels that draw gamma, Poisson and binomial variables.
#include "kernels/random/random_counts.h"

namespace flambeau {

constinit Kernel kGamma{"standard_gamma"}, kLogGamma{"log_standard_gamma"}, kPoisson{"poisson"},
    kBinomial{"binomial"};

void run_variable(const char* op, const Kernel& kernel, const Tensor& out, RandomState state,
                  const Tensor& first, const Tensor& second) {
  const KernelFn fn = kernel.find(op, out.device(), out.dtype());
  if (out.numel() == 0) return;
  VariableArgs a{};
  a.numel = out.numel();
  a.out = static_cast<char*>(out.data());
  a.first = static_cast<const char*>(first.data());
  a.second = second.defined() ? static_cast<const char*>(second.data()) : nullptr;
  a.state = state;
  launch_kernel(op, fn, out.device(), a, {writes(out), reads(first), reads(second)});
}

}  // namespace flambeau
