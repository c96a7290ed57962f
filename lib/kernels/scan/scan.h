// Running sums and products along one dimension, forwards or backwards.
#pragma once
#include "kernels/access.h"

namespace flambeau {

struct ScanArgs {
  int64_t outer, n, inner;  // of a dense tensor seen as [outer, n, inner]; runs along n
  const char* in;
  char* out;
  int8_t backwards;
  char* scratch;   // on devices, of as many bytes as was asked for
  size_t* wanted;  // where set, nothing runs: becomes those bytes, or stays as it was
};

// `out` has the shape and dtype of `input`, which may be the same tensor.
void run_scan(const char* op, const Kernel& kernel, const Tensor& out, const Tensor& input,
              int64_t dim, bool backwards);

inline constinit Kernel kCumsum{"cumsum"}, kCumprod{"cumprod"}, kLogcumsumexp{"logcumsumexp"};

}  // namespace flambeau
