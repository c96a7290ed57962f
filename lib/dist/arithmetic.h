// How providers add two vectors: by the engine's own operations, so that every dtype, NaN and
// rounding is as it is there, on whichever thread a provider asks.
#pragma once
#include "dist/call.h"
#include "dist/provider.h"

namespace flambeau::dist {

// What a provider calls for `op` of `dtype`. Throws Error(dtype) where there is no such operation.
decltype(flam_dist_call::reduce) reduction(ReduceOp op, Dtype dtype);

// A tensor over memory of somebody else, for as long as that lives.
Tensor over(void* data, int64_t count, Dtype dtype);

}  // namespace flambeau::dist
