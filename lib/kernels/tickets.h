// Tickets by which the blocks of a launch find out which of them is the last (last_block.h).
// Launches of one stream follow one another, so each stream has tickets of its own. A launch that
// is captured has none, since a replay may run beside its stream; nor has another library's stream.
#pragma once
#include <cstdint>

#include "base/device.h"

namespace flambeau {

inline constexpr int kTicketStreams = 65, kTickets = 128;

// Whose tickets a launch on the current stream takes: below kTicketStreams, or -1 for none.
int32_t ticket_stream(Device d);

}  // namespace flambeau
