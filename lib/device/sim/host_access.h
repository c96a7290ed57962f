// Names a host access to device memory: which device, which tensor's block, what to do instead. The
// fault itself then takes its usual course; the line goes only where someone asked for it.
#pragma once
#include "device/sim/arena.h"

namespace flambeau::sim {

// For the fault handler: takes no lock that it could wait for. See also control.h.
void report_host_access(const Arena& arena, const void* address, bool wrote) noexcept;

}  // namespace flambeau::sim
