// Running extremes along one dimension and where they are: NaN wins, of equals the last.
#pragma once
#include "kernels/access.h"

namespace flambeau {

struct ScanExtremeArgs {
  int64_t outer, n, inner;  // of dense tensors seen as [outer, n, inner]; runs along n
  const char* in;
  char* values;
  int64_t* at;
};

// `values` and `at` are dense and have the shape of `input`.
void run_scan_extreme(const char* op, const Kernel& kernel, const Tensor& values, const Tensor& at,
                      const Tensor& input, int64_t dim);

extern constinit Kernel kCummax, kCummin;

}  // namespace flambeau
