// Sums and the like of the stand-in for NCCL: terms in the order of the ranks, in float for halves.
#pragma once
#include <cstddef>
#include <vector>

#include "dist/nccl_library.h"

namespace nccl_standin {

size_t size_of(flambeau::dist::nccl::Datatype type);  // 0: none

struct Operation {
  flambeau::dist::nccl::Operation kind = flambeau::dist::nccl::sum;
  double factor = 1;  // before
  bool scaled = false;
};

// `out` may be none of the terms.
void reduce(void* out, const std::vector<const void*>& terms, size_t count,
            flambeau::dist::nccl::Datatype type, const Operation& operation);
double number_at(const void* data, flambeau::dist::nccl::Datatype type);

}  // namespace nccl_standin
