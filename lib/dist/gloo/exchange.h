// Sums over Gloo's connections that are made where all terms have come, and the slots of all that
// is sent by other calls than Gloo's collectives.
#pragma once
#include "dist/gloo/communicator.h"

namespace flambeau::gloo_adaptor {

// Slots that none of Gloo's own collectives uses: theirs begin with 0x01 to 0x08.
enum class Slots : uint64_t { parts = 0x41, pair = 0x42 };
constexpr uint64_t slot(Slots kind, uint64_t tag) { return uint64_t(kind) << 56 | tag >> 8; }

// Each rank sends all it has to everyone and adds up, where that is no more than eager() takes.
void exchange_and_sum(Communicator& c, const flam_dist_call& call);

}  // namespace flambeau::gloo_adaptor
