// What a provider is asked for a call: which function of its table, and what it is told.
#pragma once
#include "dist/call.h"
#include "dist/provider.h"
#include "dist/store.h"

namespace flambeau::dist {

flam_dist_collective function_of(const flam_dist_provider& provider, Kind kind);

// All but the memory.
flam_dist_call described(const Call& call, uint64_t tag, Millis timeout);

// Whether what `out` holds before is read: where results are written over operands.
bool reads_results(const Call& call);

}  // namespace flambeau::dist
